"""Regression of any number of targets on y: ridges of several kernels, stacked, and trees.

Each candidate is a ridge regression on y and on the kernel values between y and some centres.
Candidates are averaged with the weights whose leave-one-out errors are smallest: stacking (Breiman
1996). All leave-one-out predictions have closed forms, so that nothing is fitted twice. If a line
or a constant is nearly as good, it is chosen alone. Boosted trees predict what these leave over.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import NamedTuple, Self

import torch
from torch import Tensor

from sliceflow.codec._boosting import Boosting
from sliceflow.codec._metric import learned_metric
from sliceflow.codec._ridge import Ridge
from sliceflow.codec._scores import NormalScores
from sliceflow.codec._trees import Trees
from sliceflow.core._random import Random
from sliceflow.core._threads import parallel

MAX_FITTED, MAX_BOOSTED = 20_000, 50_000
"""Maximum number of rows to which candidates, and trees, are fitted."""

MAX_CENTRES = 1000
"""Maximum number of rows from which kernels measure distances."""

MIN_GAIN = 0.01
"""By which part a line of scores must lessen the squared errors of a line.

The default for stacked candidates, too, which must lessen those of the better line.
"""

CHANCE = 10
"""A line must lessen the squared errors of a constant by this number over the number of rows.

By chance, a line lessens them by about 1 over the number of rows.
"""

INTERCEPT = 3.0
"""The constant feature. It is larger than others, since a penalty should hardly reach it."""

MAX_METRIC = 100
"""Maximum number of columns of y for which a metric is learned."""

BLOCK = 256
"""Number of rows that are predicted together: always the same, since bits may depend on shapes."""


NO_KERNELS = ("constant", "linear")
"""Names of candidates that are no more than a line."""


class Candidate(NamedTuple):
    """A kernel of columns of y.

    Attributes
    ----------
    as_scores
        Whether columns are seen as normal scores, or as they are.
    kernel, width
        The kernel and its width, or one of `NO_KERNELS`.
    has_metric
        Whether distances are those of a learned metric.
    """

    as_scores: bool
    kernel: str = "linear"
    width: float = 1.0
    has_metric: bool = False

    @property
    def has_kernel(self) -> bool:
        """Whether it is more than a line."""
        return self.kernel not in NO_KERNELS

    def n_features(self, l: int, m: int) -> int:
        """Return the number of features of l columns of y and m centres."""
        return 1 if self.kernel == "constant" else 1 + l + m * self.has_kernel

    def of(self, distance: Tensor) -> Tensor:
        """Return the values of the kernel at these distances; there √l is about 1."""
        scaled = distance / self.width
        return torch.exp(-scaled.square() / 2 if self.kernel == "gaussian" else -scaled)


KERNELS: tuple[tuple[str, float, bool], ...] = (
    *(("gaussian", 2.0**-i, False) for i in range(4)),
    ("laplace", 1.0, False),
    *(("gaussian", 0.5, True), ("gaussian", 0.25, True), ("laplace", 0.5, True)),
)
LINEAR = (Candidate(False, "constant"), Candidate(False), Candidate(True))
CANDIDATES = (*LINEAR, *(Candidate(as_scores, *k) for as_scores in (False, True) for k in KERNELS))


@dataclass(frozen=True, eq=False)
class Features:
    """What the candidates see of y: its columns, and their kernel values at the centres.

    Parameters
    ----------
    scores
        The normal scores of y.
    centres
        Some rows of y, (m, l).
    metrics
        The learned metrics of y as it is and as scores, (2, l, l); empty if no candidate has one.
    """

    scores: NormalScores
    centres: Tensor
    metrics: Tensor

    def at(self, y: Tensor) -> Callable[[Candidate], Tensor]:
        """Return a function of a candidate: the features of rows y, (n, l), for it, (n, P).

        Distances are measured once for all kernels that share them.
        """
        seen, distance = cache(partial(self.seen, y)), cache(partial(self._distance, y))

        def features(candidate: Candidate) -> Tensor:
            parts = [y.new_full((len(y), 1), INTERCEPT)]
            if candidate.kernel != "constant":
                parts.append(seen(candidate.as_scores))
            if candidate.has_kernel:
                parts.append(candidate.of(distance(candidate.as_scores, candidate.has_metric)))
            return torch.cat(parts, dim=1)

        return features

    def _distance(self, y: Tensor, as_scores: bool, has_metric: bool) -> Tensor:
        """Return the distances between rows y, (n, l), and the centres, by √l: (n, m)."""
        seen, centres = (self.seen(rows, as_scores) for rows in (y, self.centres))
        if has_metric:
            metric = self.metrics[int(as_scores)]
            seen, centres = seen @ metric, centres @ metric
        distance = torch.cdist(seen, centres, compute_mode="donot_use_mm_for_euclid_dist")
        return distance / math.sqrt(y.shape[1])

    def of(self, candidates: tuple[Candidate, ...]) -> Self:
        """Return these features without metrics that none of the candidates has."""
        has_metric = any(candidate.has_metric for candidate in candidates)
        return self if has_metric else replace(self, metrics=self.metrics[:0])

    def seen(self, y: Tensor, as_scores: bool) -> Tensor:
        """Return rows y as they are, or as normal scores."""
        return self.scores.forward(y.T).T if as_scores else y


@dataclass(frozen=True, eq=False)
class Regression:
    """Predictions of T targets from y.

    Parameters
    ----------
    features
        What the candidates see of y.
    candidates, coefficients
        The candidates, and the coefficients of each, times its weight: (P, T).
    trees
        For each target, the trees that predict what candidates leave over, if there are any.
    """

    features: Features
    candidates: tuple[Candidate, ...]
    coefficients: tuple[Tensor, ...]
    trees: tuple[Trees | None, ...]

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Return the regression of the targets of all parts, which see the same of y.

        Kernels that none of them uses are left out.
        """
        each = zip(*(part.coefficients for part in parts), strict=True)
        joined = zip(parts[0].candidates, (torch.cat(c, dim=1) for c in each), strict=True)
        used = {candidate: c for candidate, c in joined if c.any() or not candidate.has_kernel}
        trees = tuple(trees for part in parts for trees in part.trees)
        features = parts[0].features.of(tuple(used))
        return cls(features, tuple(used), tuple(used.values()), trees)

    def __matmul__(self, matrix: Tensor) -> Self:
        """Return the regression of combinations of targets, the columns of (T, K); no trees."""
        coefficients = tuple(c @ matrix for c in self.coefficients)
        return replace(self, coefficients=coefficients, trees=(None,) * matrix.shape[1])

    def __call__(self, y: Tensor) -> Tensor:
        """Return the predictions for rows y, (n, l): (n, T)."""
        if not len(y):
            return y.new_empty(0, self.coefficients[0].shape[1])
        rows, place = torch.unique(y, dim=0, return_inverse=True)
        padded = torch.nn.functional.pad(rows, (0, 0, 0, -len(rows) % BLOCK))
        return torch.cat(parallel(self._predict, torch.split(padded, BLOCK)))[place]

    def _predict(self, y: Tensor) -> Tensor:
        predicted = torch.zeros(len(y), self.coefficients[0].shape[1], dtype=torch.float64)
        features = self.features.at(y)
        for candidate, c in zip(self.candidates, self.coefficients, strict=True):
            if c.any():
                predicted += features(candidate) @ c
        for target, trees in enumerate(self.trees):
            if trees is not None:
                predicted[:, target] += trees(y)
        return predicted


class Regressor:
    """Regressions of one set of targets after another on the same y, (n, l).

    Parameters
    ----------
    y
        Rows of standardised columns, in float64, in random order.
    x
        Targets that metrics are learned to predict, (n, d), standardised.
    candidates
        The candidates: a constant, a line, a line of scores, and others.
    rng
        Draws the centres.
    """

    def __init__(
        self, y: Tensor, x: Tensor, candidates: tuple[Candidate, ...], rng: Random
    ) -> None:
        self.y = y
        y, l = y[:MAX_FITTED], y.shape[1]
        centres = y[torch.from_numpy(rng.permutation(len(y))[:MAX_CENTRES])]
        self.features = Features(NormalScores.of(y.T), centres, y.new_empty(0, l, l))
        if l > MAX_METRIC:
            candidates = tuple(c for c in candidates if not c.has_metric)
        if any(candidate.has_metric for candidate in candidates):
            seen = (self.features.seen(y, as_scores) for as_scores in (False, True))
            metrics = parallel(lambda rows: learned_metric(rows, x), list(seen))
            self.features = replace(self.features, metrics=torch.stack(metrics))
        self.candidates = candidates
        features = self.features.at(y)
        self.ridges = parallel(lambda candidate: Ridge.of(features(candidate)), candidates)

    @cached_property
    def boosting(self) -> Boosting:
        """Boosted trees on y, which some candidates go without."""
        return Boosting(self.y[:MAX_BOOSTED])

    def boost(self, targets: Tensor, min_gain: float = MIN_GAIN) -> tuple[Regression, Tensor]:
        """Return what `fit` does, and trees that predict what it leaves over."""
        regression, predicted = self.fit(targets, min_gain)
        if not any(candidate.has_kernel for candidate in self.candidates):
            return regression, predicted
        fits = self.boosting.fit((targets - predicted)[:MAX_BOOSTED])
        more = torch.stack(parallel(self._by_trees, fits), dim=1)
        return replace(regression, trees=tuple(trees for trees, _ in fits)), predicted + more

    def _by_trees(self, fit: tuple[Trees | None, Tensor]) -> Tensor:
        """Return the predictions of all rows by trees that have not seen them."""
        trees, without = fit
        others = self.y[MAX_BOOSTED:]
        rest = others.new_zeros(len(others)) if trees is None else trees(others)
        return torch.cat([without, rest])

    def fit(self, targets: Tensor, min_gain: float = MIN_GAIN) -> tuple[Regression, Tensor]:
        """Return the regression of targets (n, T), and predictions by fits without each row.

        ``min_gain`` is the part by which stacked candidates must lessen the squared errors of a
        line, which is smoother.
        """
        fitted = targets[:MAX_FITTED]
        fits = parallel(lambda ridge: ridge.fit(fitted), self.ridges)
        predictions = torch.stack([prediction for _, prediction in fits])
        errors = (predictions - fitted).permute(2, 0, 1)
        weights = torch.stack(parallel(lambda e: self._weights(e, min_gain), errors), dim=1)
        coefficients = [c * w for (c, _), w in zip(fits, weights, strict=True)]
        no_trees = (None,) * targets.shape[1]
        regression = Regression(self.features, self.candidates, tuple(coefficients), no_trees)
        without = (weights[:, None] * predictions).sum(dim=0)
        return regression, torch.cat([without, regression(self.y[MAX_FITTED:])])

    def _weights(self, errors: Tensor, min_gain: float) -> Tensor:
        """Return the weights of candidates with these errors, (C, n): 1 for one that is enough."""
        weights, squares, enough = stacked(errors), errors.square().sum(dim=1), 0
        for line, gain in ((1, CHANCE / errors.shape[1]), (2, MIN_GAIN)):
            enough = line if squares[enough] > (1 + gain) * squares[line] else enough
        if squares[enough] > (1 + min_gain) * (weights @ errors).square().sum():
            return weights
        return torch.eye(len(weights), dtype=torch.float64)[enough]


def stacked(errors: Tensor) -> Tensor:
    """Return the weights, at least 0 and 1 in all, of candidates with these errors, (C, n).

    The mean square of the weighted errors is smallest. The candidate whose weight is most negative
    is left out until none is.
    """
    products = errors @ errors.T
    products.diagonal().add_(1e-9 * products.diagonal().mean() + 1e-30)  # some may be equal
    left, weights = list(range(len(products))), torch.zeros(len(products), dtype=torch.float64)
    while True:
        solved = torch.linalg.solve(products[left][:, left], errors.new_ones(len(left)))
        if (solved >= 0).all():
            weights[left] = solved / solved.sum()
            return weights
        del left[int(solved.argmin())]
