"""The initial distribution of particles, p₀(x | y)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from sliceflow.codec._conditions import Condition
from sliceflow.core._random import Random
from sliceflow.core._threads import single_threaded
from sliceflow.directions._operator import BLOCK_COLUMNS, matmul, matmul_by_columns, slices
from sliceflow.flow._targets import DrawRows

GAUSSIAN_ROWS = 20_000
"""Number of data rows from which means and covariances are estimated."""

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


@dataclass(frozen=True, eq=False)
class GaussianSampler:
    """A Gaussian for each of G classes: means (G, d, 1), and factors of covariances (G, d, r)."""

    condition: Condition
    means: Tensor
    factors: Tensor

    def __call__(self, rng: Random, z: Tensor) -> Tensor:
        """Draw x, (d, M), for particles (D, M) whose conditions are given."""
        noise, group = rng.particles(z[: self.factors.shape[2]]), self.condition.groups(z)
        x = torch.empty_like(z[: self.means.shape[1]])
        for g, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            members = (group == g).nonzero().squeeze(1)
            for part in slices(len(members), BLOCK_COLUMNS):
                columns = members[part]
                x[:, columns] = mean.to(x) + matmul_by_columns(factor.to(x), noise[:, columns])
        return x


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
