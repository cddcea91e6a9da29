"""Where particles start: p₀(x | y)."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from sliceflow.codec._conditions import Condition
from sliceflow.core._random import Random
from sliceflow.core._threads import single_threaded
from sliceflow.directions._operator import matmul, slices
from sliceflow.flow._targets import DrawRows

GAUSSIAN_ROWS = 20_000
"""Rows of data from which a mean and a covariance are estimated."""

MIN_ROWS = 30
"""A class with no more different rows than this has no covariance of its own."""

PRODUCT_COLUMNS = 256
"""Columns of a matrix product: always the same number, since bits might change with its shape."""


class Sampler(Protocol):
    """The distribution p₀(x | y), ready to be drawn from."""

    def __call__(self, rng: Random, z: Tensor) -> Tensor:
        """Draw x, (d, M), for joined particles (D, M) whose y is given."""


class Start(Protocol):
    """Where particles start, as far as that can be said without data."""

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
        """Draw x, (d, M), for joined particles (D, M) whose y is given."""
        return self.std * rng.particles(z[: self.d])


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian with the mean and the covariance of the data or, given a label, of its class.

    A class with few rows starts as all the data does.
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
    """A Gaussian for each of G groups of y: means (G, d, 1) and roots of covariances (G, d, r)."""

    condition: Condition
    means: Tensor
    factors: Tensor

    def __call__(self, rng: Random, z: Tensor) -> Tensor:
        """Draw x, (d, M), for joined particles (D, M) whose y is given."""
        noise, group = rng.particles(z[: self.factors.shape[2]]), self.condition.groups(z)
        x = torch.empty_like(z[: self.means.shape[1]])
        for g, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            members = (group == g).nonzero().squeeze(1)
            for some in slices(len(members), PRODUCT_COLUMNS):
                columns = members[some]
                x[:, columns] = mean.to(x) + _product(factor.to(x), noise[:, columns])
        return x


def _product(factor: Tensor, x: Tensor) -> Tensor:
    """Return L x for at most `PRODUCT_COLUMNS` columns x, padded to exactly that many."""
    n = x.shape[1]
    return matmul(factor, torch.nn.functional.pad(x, (0, PRODUCT_COLUMNS - n)))[:, :n]


def _distinct(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct rows of x, (d, r), and the share of each, (r,)."""
    distinct, counts = torch.unique(x, dim=1, return_counts=True)
    return distinct, counts / counts.sum()


def _mean_and_factor(x: Tensor, share: Tensor, rng: Random) -> tuple[Tensor, Tensor]:
    """Return the mean (d, 1) of x (d, n) and a root L of its covariance L Lᵀ, (d, d) or (d, n)."""
    mean = (x * share).sum(dim=1, keepdim=True)
    weighted = (x - mean) * share.sqrt()
    if x.shape[1] < len(x):
        # A root already. Rotated, it reveals no more of the data than the covariance does.
        noise = rng.particles(weighted.new_empty(x.shape[1], x.shape[1]))
        return mean, matmul(weighted, single_threaded(lambda: torch.linalg.qr(noise).Q))
    weighted = weighted.double()
    covariance = matmul(weighted, weighted.T)
    # A coordinate that never changes, or follows others, makes the matrix singular: add a little.
    covariance.diagonal().add_(1e-6 * covariance.diagonal().mean() + torch.finfo(x.dtype).tiny)
    return mean, single_threaded(lambda: torch.linalg.cholesky(covariance)).to(x)
