"""Where particles start: p₀(x | y)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from sliceflow._random import normal
from sliceflow._threads import alone
from sliceflow.conditions import Condition, Label
from sliceflow.projections.operator import matmul, slices
from sliceflow.targets import Target

ROWS = 20_000
"""Rows of data from which a mean and a covariance are estimated."""

FEW = 30
"""A class with so few different rows has no covariance of its own."""

PRODUCT = 256
"""Columns of a matrix product: always as many, since bits might change with its shape."""


class Sampler(Protocol):
    """A law of x, given y, ready to be drawn from."""

    def __call__(self, rng: np.random.Generator, z: Tensor) -> Tensor:
        """Draw x, (d, M), for joined particles (D, M) whose y is given."""


class Start(Protocol):
    """Where particles start, as far as that can be said without data."""

    def sampler(
        self, target: Target, condition: Condition, d: int, rng: np.random.Generator
    ) -> Sampler:
        """Return the law of x of d coordinates."""


@dataclass(frozen=True)
class Noise:
    """N(0, σ² I), as in the paper with σ = 1."""

    std: float = 1.0

    def sampler(
        self, target: Target, condition: Condition, d: int, rng: np.random.Generator
    ) -> Sampler:
        """Return the law of x of d coordinates."""
        return NoiseSampler(d, self.std)


@dataclass(frozen=True)
class NoiseSampler:
    """N(0, σ² I) in d dimensions."""

    d: int
    std: float

    def __call__(self, rng: np.random.Generator, z: Tensor) -> Tensor:
        """Draw x, (d, M), for joined particles (D, M) whose y is given."""
        return self.std * normal(rng, z[: self.d])


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian with the mean and the covariance of the data or, given a label, of its class.

    A class with few rows starts as all the data does.
    """

    def sampler(
        self, target: Target, condition: Condition, d: int, rng: np.random.Generator
    ) -> Sampler:
        """Return the law of x of d coordinates."""
        z = target.draw(rng, ROWS)
        group = _groups(condition, z)
        parts = [
            z[:d, group == g] for g in range(condition.l if isinstance(condition, Label) else 1)
        ]
        enough = [x if torch.unique(x, dim=1).shape[1] > FEW else z[:d] for x in parts]
        means, factors = zip(*map(_mean_and_factor, enough), strict=True)
        return GaussianSampler(condition, torch.stack(means), torch.stack(factors))


@dataclass(frozen=True, eq=False)
class GaussianSampler:
    """A Gaussian for each of G groups of y: means (G, d, 1) and roots of covariances (G, d, d)."""

    condition: Condition
    means: Tensor
    factors: Tensor

    def __call__(self, rng: np.random.Generator, z: Tensor) -> Tensor:
        """Draw x, (d, M), for joined particles (D, M) whose y is given."""
        x, group = normal(rng, z[: self.means.shape[1]]), _groups(self.condition, z)
        for g, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            members = (group == g).nonzero().squeeze(1)
            for some in slices(len(members), PRODUCT):
                columns = members[some]
                x[:, columns] = mean.to(x) + _product(factor.to(x), x[:, columns])
        return x


def _product(factor: Tensor, x: Tensor) -> Tensor:
    """Return L x for at most `PRODUCT` columns x, by a product of so many."""
    n = x.shape[1]
    return matmul(factor, torch.nn.functional.pad(x, (0, PRODUCT - n)))[:, :n]


def _groups(condition: Condition, z: Tensor) -> Tensor:
    """Return the number of the Gaussian that each particle starts from, with shape (M,)."""
    if isinstance(condition, Label):
        return condition.split(z)[1]
    return torch.zeros(z.shape[1], dtype=torch.long, device=z.device)


def _mean_and_factor(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean (d, 1) of x (d, n) and a root L, (d, d), of its covariance L Lᵀ."""
    mean = x.mean(dim=1, keepdim=True)
    centred = x - mean
    covariance = matmul(centred.double(), centred.double().T) / x.shape[1]
    # A coordinate that never changes, or follows others, leaves no room for the root: make some.
    covariance.diagonal().add_(1e-6 * covariance.diagonal().mean() + torch.finfo(x.dtype).tiny)
    return mean, alone(lambda: torch.linalg.cholesky(covariance)).to(x)
