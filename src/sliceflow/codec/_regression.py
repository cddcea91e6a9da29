"""Regression of any number of targets on y, in closed form: ridges of several kernels, stacked.

Each candidate is a ridge regression on y and on the kernel values between y and some centres. Its
penalty is chosen by generalised cross-validation (Golub et al. 1979). Candidates are averaged with
the weights whose leave-one-out errors are smallest: stacking (Breiman 1996). All leave-one-out
predictions have closed forms, so that nothing is fitted twice.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import torch
from torch import Tensor

from sliceflow.codec._scores import NormalScores
from sliceflow.core._random import Random
from sliceflow.core._threads import parallel

MAX_CENTRES = 1000
"""Maximum number of rows from which kernels measure distances."""

PENALTIES = torch.logspace(1, -7, 25, dtype=torch.float64)
"""Penalties that are tried, as fractions of the largest eigenvalue; the first if none suits."""

MAX_FREEDOM = 0.5
"""Maximum degrees of freedom of a candidate, as a fraction of the rows."""

MIN_GAIN = 0.01
"""By which part squared errors must be less than those of a linear candidate, which is smoother."""

INTERCEPT = 3.0
"""The constant feature. It is larger than others, since a penalty should hardly reach it."""

BLOCK = 256
"""Number of rows that are predicted together: always the same, since bits may depend on shapes."""


class Candidate(NamedTuple):
    """Columns of y as they are or as normal scores, a kernel, and its width; linear without."""

    as_scores: bool
    kernel: str = "linear"
    width: float = 1.0

    @property
    def has_kernel(self) -> bool:
        """Whether it is not linear."""
        return self.kernel != "linear"

    def of(self, distance: Tensor) -> Tensor:
        """Return the values of the kernel at these distances; there √l is about 1."""
        scaled = distance / self.width
        return torch.exp(-scaled.square() / 2 if self.kernel == "gaussian" else -scaled)


KERNELS = (*(("gaussian", 2.0**-i) for i in range(4)), ("laplace", 1.0))
LINEAR = tuple(Candidate(as_scores) for as_scores in (False, True))
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
    """

    scores: NormalScores
    centres: Tensor

    def __call__(self, y: Tensor, candidate: Candidate) -> Tensor:
        """Return the features of rows y, (n, l), for a candidate: (n, 1 + l) or (n, 1 + l + m)."""
        seen, centres = (self._seen(rows, candidate) for rows in (y, self.centres))
        parts = [seen.new_full((len(y), 1), INTERCEPT), seen]
        if candidate.has_kernel:
            distance = torch.cdist(seen, centres, compute_mode="donot_use_mm_for_euclid_dist")
            parts.append(candidate.of(distance / math.sqrt(y.shape[1])))
        return torch.cat(parts, dim=1)

    def _seen(self, y: Tensor, candidate: Candidate) -> Tensor:
        return self.scores.forward(y.T).T if candidate.as_scores else y


@dataclass(frozen=True, eq=False)
class Ridge:
    """A candidate's features in their principal axes, for all penalties and targets at once.

    Parameters
    ----------
    axes
        The principal axes, as columns, (P, r).
    spread
        The mean squares along them, (r,).
    along
        The features along them, (n, r).
    """

    axes: Tensor
    spread: Tensor
    along: Tensor

    @classmethod
    def of(cls, features: Tensor) -> Self:
        """Return the principal axes of these features, (n, P)."""
        spread, axes = torch.linalg.eigh(features.T @ features / len(features))
        kept = spread > 1e-10 * spread[-1]
        return cls(axes[:, kept], spread[kept], features @ axes[:, kept])

    def fit(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the coefficients for targets (n, T), and the leave-one-out predictions."""
        n = len(targets)
        slopes = self.along.T @ targets / n
        inverse = 1 / (self.spread + self._penalties(slopes, targets))  # (T, r)
        coefficients = slopes * inverse.T
        leverage = self.along.square() @ inverse.T / n
        errors = (targets - self.along @ coefficients) / (1 - leverage)
        return self.axes @ coefficients, targets - errors

    def _penalties(self, slopes: Tensor, targets: Tensor) -> Tensor:
        """Return the penalty of each target with the least cross-validated error, (T, 1)."""
        n, tried = len(targets), PENALTIES[:, None] * self.spread[-1]
        kept = self.spread / (self.spread + tried)  # what a penalty leaves of each axis
        freedom = kept.sum(dim=1, keepdim=True) / n
        explained = (kept * (2 - kept) / self.spread) @ slopes.square()
        errors = (targets.square().mean(dim=0) - explained) / (1 - freedom).square()
        errors = errors.masked_fill(freedom > MAX_FREEDOM, math.inf)
        return tried[errors.argmin(dim=0)]


@dataclass(frozen=True, eq=False)
class Regression:
    """Predictions of T targets from y.

    Parameters
    ----------
    features
        What the candidates see of y.
    candidates, coefficients
        The candidates, and the coefficients of each, times its weight: (P, T).
    """

    features: Features
    candidates: tuple[Candidate, ...]
    coefficients: tuple[Tensor, ...]

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Return the regression of the targets of all parts, which see the same of y."""
        coefficients = zip(*(part.coefficients for part in parts), strict=True)
        first = parts[0]
        return cls(first.features, first.candidates, tuple(torch.cat(c, 1) for c in coefficients))

    def __matmul__(self, matrix: Tensor) -> Self:
        """Return the regression of combinations of the targets: those of the columns of (T, K)."""
        return replace(self, coefficients=tuple(c @ matrix for c in self.coefficients))

    def __call__(self, y: Tensor) -> Tensor:
        """Return the predictions for rows y, (n, l): (n, T)."""
        rows, place = torch.unique(y, dim=0, return_inverse=True)
        padded = torch.nn.functional.pad(rows, (0, 0, 0, -len(rows) % BLOCK))
        return torch.cat(parallel(self._predict, torch.split(padded, BLOCK)))[place]

    def _predict(self, y: Tensor) -> Tensor:
        predicted = torch.zeros(len(y), self.coefficients[0].shape[1], dtype=torch.float64)
        for candidate, c in zip(self.candidates, self.coefficients, strict=True):
            predicted += self.features(y, candidate) @ c
        return predicted


class Regressor:
    """Regressions of one set of targets after another on the same y, (n, l).

    Parameters
    ----------
    y
        Rows of standardised columns, in float64.
    candidates
        The candidates.
    rng
        Draws the centres.
    """

    def __init__(self, y: Tensor, candidates: tuple[Candidate, ...], rng: Random) -> None:
        centres = y[torch.from_numpy(rng.permutation(len(y))[:MAX_CENTRES])]
        self.features = Features(NormalScores.of(y.T), centres)
        self.candidates = candidates
        self.ridges = parallel(lambda c: Ridge.of(self.features(y, c)), candidates)

    def fit(self, targets: Tensor) -> tuple[Regression, Tensor]:
        """Return the regression of targets (n, T), and their leave-one-out predictions."""
        fits = parallel(lambda ridge: ridge.fit(targets), self.ridges)
        predictions = torch.stack([prediction for _, prediction in fits])
        errors = (predictions - targets).permute(2, 0, 1)
        weights = torch.stack(parallel(self._weights, errors), dim=1)
        coefficients = [c * w for (c, _), w in zip(fits, weights, strict=True)]
        regression = Regression(self.features, self.candidates, tuple(coefficients))
        return regression, (weights[:, None] * predictions).sum(dim=0)

    def _weights(self, errors: Tensor) -> Tensor:
        """Return the weights of candidates with these errors, (C, n): if enough, one linear."""
        weights, squares = stacked(errors), errors.square().sum(dim=1)
        is_linear = torch.tensor([not candidate.has_kernel for candidate in self.candidates])
        linear = squares.masked_fill(~is_linear, math.inf).argmin()
        if squares[linear] > (1 + MIN_GAIN) * (weights @ errors).square().sum():
            return weights
        return torch.zeros_like(weights).index_fill_(0, linear, 1)


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
