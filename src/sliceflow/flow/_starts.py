"""The initial distribution of particles, p₀(x | y)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from sliceflow.codec._conditions import Condition
from sliceflow.core._random import Random
from sliceflow.core._threads import single_threaded
from sliceflow.core._validation import check_integer
from sliceflow.directions._operator import BLOCK_COLUMNS, matmul, matmul_by_columns, slices
from sliceflow.flow._targets import DrawRows

GAUSSIAN_ROWS = 20_000
"""Number of data rows from which means and covariances are estimated."""

ADDED_ROWS = 4
"""Number of rows in each factor of `Blends`: a model file has no row by itself."""

CLUSTER_ROWS, MIN_BLENDED_ROWS = 128, 512
"""Minimum number of rows of each cluster of `Blends`, and of each class."""

POWER_ITERATIONS = 30
"""Number of steps to a principal axis: it need not be exact."""

MIN_ROWS = 30
"""A class with at most this many distinct rows starts from the Gaussian of all data."""


class JoinedRandom(Random):
    """Draws some of the particles of each of several draws, as if they were one."""

    def __init__(self, draws: Sequence[tuple[Random, slice]]) -> None:
        self._draws = draws

    def particles(self, like: Tensor) -> Tensor:
        """Draw particles from N(0, I), with the shape (d, M), dtype and device of ``like``."""
        parts = [rng.particles(like.new_empty(len(like), i.stop))[:, i] for rng, i in self._draws]
        return torch.cat(parts, dim=1)


class Sampler(Protocol):
    """The distribution p₀(x | y), ready to be drawn from."""

    def __call__(self, rng: Random, z: Tensor) -> Tensor:
        """Draw x, (d, M), for particles (D, M) whose conditions are given."""


class Start(Protocol):
    """The kind of initial distribution, before data is known."""

    def sampler(self, draw: DrawRows, condition: Condition, d: int, rng: Random) -> Sampler:
        """Return p₀(x | y) for x of d coordinates."""


@dataclass(frozen=True)
class Noise:
    """N(0, σ² I), as in the paper with σ = 1."""

    std: float = 1.0

    def sampler(self, draw: DrawRows, condition: Condition, d: int, rng: Random) -> Sampler:
        """Return p₀(x | y) for x of d coordinates."""
        return NoiseSampler(d, self.std)


@dataclass(frozen=True)
class NoiseSampler:
    """N(0, σ² I) in d dimensions."""

    d: int
    std: float

    def __call__(self, rng: Random, z: Tensor) -> Tensor:
        """Draw x, (d, M), for particles (D, M) whose conditions are given."""
        return self.std * rng.particles(z[: self.d])


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian with the mean and the covariance of the data or, given a label, of its class.

    A class with few rows starts from the Gaussian of all data.
    """

    def sampler(self, draw: DrawRows, condition: Condition, d: int, rng: Random) -> Sampler:
        """Return p₀(x | y) for x of d coordinates."""
        z = draw(GAUSSIAN_ROWS)
        group = condition.groups(z)
        parts = [_distinct(z[:d, group == g]) for g in range(condition.n_groups)]
        whole = _distinct(z[:d]) if min(len(share) for _, share in parts) <= MIN_ROWS else parts[0]
        enough = [part if len(part[1]) > MIN_ROWS else whole for part in parts]
        means, factors = zip(*(_mean_and_factor(*part, rng) for part in enough), strict=True)
        rank = max(factor.shape[1] for factor in factors)
        padded = [torch.nn.functional.pad(f, (0, rank - f.shape[1])) for f in factors]
        return GaussianSampler(condition, torch.stack(means), torch.stack(padded))


@dataclass(frozen=True)
class Blends:
    """Sums of a few alike rows of the data or, given a label, of its class.

    The rows are divided into clusters of equal size, by halving them again and again along their
    principal axis. A particle starts from the mean of a cluster, plus deviations of sixteen of its
    rows, each multiplied by about a quarter. So all particles together have the mean and the
    covariance of the data, as those of a Gaussian have. But they keep more of what is not Gaussian,
    such as the lines of images, and what goes with what. The fewer rows, the more samples are like
    single rows; with sixteen, they are a little more so than unseen data is.

    If a class has too few rows for blends, all start from a `Gaussian`.

    Parameters
    ----------
    together
        The number of sums of four rows that are added up.
    """

    together: int = 4

    def __post_init__(self) -> None:
        check_integer("together", self.together, 1, CLUSTER_ROWS // ADDED_ROWS)

    def sampler(self, draw: DrawRows, condition: Condition, d: int, rng: Random) -> Sampler:
        """Return p₀(x | y) for x of d coordinates."""
        z = draw(GAUSSIAN_ROWS)
        group = condition.groups(z)
        classes = [_distinct(z[:d, group == g])[0] for g in range(condition.n_groups)]
        least = min(x.shape[1] for x in classes)
        if least < MIN_BLENDED_ROWS:
            return Gaussian().sampler(draw, condition, d, rng)
        halvings = int(math.log2(least / CLUSTER_ROWS))
        r = least // (ADDED_ROWS * 2**halvings)
        parts = [
            _mean_and_sums(cluster[:, : ADDED_ROWS * r])
            for x in classes
            for cluster in _clusters(x[:, torch.from_numpy(rng.permutation(x.shape[1]))], halvings)
        ]
        means, factors = map(torch.stack, zip(*parts, strict=True))
        return BlendSampler(condition, means, factors, clusters=2**halvings, together=self.together)


def _clusters(x: Tensor, halvings: int) -> list[Tensor]:
    """Halve the rows of x, (d, n), along their principal axis, and each half again."""
    if halvings == 0:
        return [x]
    order = single_threaded(lambda: (_principal_axis(x) @ x).argsort(stable=True))
    half = (len(order) + 1) // 2
    # rows stay in random order: neighbours along an axis would be added up otherwise
    sides = order[:half].sort().values, order[half:].sort().values
    return [cluster for side in sides for cluster in _clusters(x[:, side], halvings - 1)]


def _principal_axis(x: Tensor) -> Tensor:
    """Return the axis of the largest variance of x, (d, n), by power iteration."""
    centred = x - x.mean(dim=1, keepdim=True)
    axis = centred[:, centred.square().sum(dim=0).argmax()]
    for _ in range(POWER_ITERATIONS):
        axis = torch.nn.functional.normalize(centred @ (axis @ centred), dim=0)
    return axis


def _mean_and_sums(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean (d, 1) of x (d, n), and factors of its covariance, each of a few rows."""
    mean = x.mean(dim=1, keepdim=True)
    sums = (x - mean).reshape(len(x), ADDED_ROWS, -1).sum(dim=1)
    return mean, sums / x.shape[1] ** 0.5


@dataclass(frozen=True, eq=False)
class GaussianSampler:
    """A Gaussian for each of G classes: means (G, d, 1), and factors of covariances (G, d, r)."""

    condition: Condition
    means: Tensor
    factors: Tensor

    def __call__(self, rng: Random, z: Tensor) -> Tensor:
        """Draw x, (d, M), for particles (D, M) whose conditions are given."""
        part, weights = self.parts(rng, z)
        x = torch.empty_like(z[: self.means.shape[1]])
        for g, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            members = (part == g).nonzero().squeeze(1)
            for block in slices(len(members), BLOCK_COLUMNS):
                columns = members[block]
                moves = matmul_by_columns(factor.to(x), weights[:, columns])
                x[:, columns] = mean.to(x) + moves
        return x

    def parts(self, rng: Random, z: Tensor) -> tuple[Tensor, Tensor]:
        """Draw the mean and the weights of factors, (r, M), of each particle: here noise."""
        noise = rng.particles(z.new_empty(self.factors.shape[2], z.shape[1]))
        return self.condition.groups(z), noise


@dataclass(frozen=True, eq=False)
class BlendSampler(GaussianSampler):
    """Sums of a few factors of a cluster: means (G·L, d, 1) and factors (G·L, d, r).

    Parameters
    ----------
    clusters
        The number of clusters of each class, L.
    together
        The number of factors that are added up.
    """

    clusters: int = field(kw_only=True)
    together: int = field(kw_only=True)

    def parts(self, rng: Random, z: Tensor) -> tuple[Tensor, Tensor]:
        """Draw the cluster and the weights of factors, (r, M): all but a few are zero.

        The largest noises choose: the cluster, and factors, whose weights they are. Equal weights
        would make some particles equal.
        """
        r, L = self.factors.shape[2], self.clusters
        noise = rng.particles(z.new_empty(L + r, z.shape[1]))
        largest = noise[L:].topk(self.together, dim=0)
        weights = torch.zeros_like(noise[L:]).scatter_(0, *largest[::-1])
        weights *= r**0.5 / weights.norm(dim=0)
        return L * self.condition.groups(z) + noise[:L].argmax(dim=0), weights


def _distinct(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct columns of x, (d, r), and their relative frequencies, (r,)."""
    distinct, counts = torch.unique(x, dim=1, return_counts=True)
    return distinct, counts / counts.sum()


def _mean_and_factor(x: Tensor, share: Tensor, rng: Random) -> tuple[Tensor, Tensor]:
    """Return the mean (d, 1) of x (d, n), and L of its covariance L Lᵀ, (d, d) or (d, n)."""
    mean = (x * share).sum(dim=1, keepdim=True)
    weighted = (x - mean) * share.sqrt()
    if x.shape[1] < len(x):
        # Already a factor. Rotated, it reveals no more of the data than the covariance does.
        noise = rng.particles(weighted.new_empty(x.shape[1], x.shape[1]))
        return mean, matmul(weighted, single_threaded(lambda: torch.linalg.qr(noise).Q))
    weighted = weighted.double()
    covariance = matmul(weighted, weighted.T)
    # Constant or dependent coordinates make the matrix singular: add a little to the diagonal.
    covariance.diagonal().add_(1e-6 * covariance.diagonal().mean() + torch.finfo(x.dtype).tiny)
    return mean, single_threaded(lambda: torch.linalg.cholesky(covariance)).to(x)
