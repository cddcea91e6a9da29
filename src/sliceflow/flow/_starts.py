"""The initial distribution of particles, p₀(x | y)."""

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

MIN_FACTORS, MAX_FACTORS = 256, 2000
"""Numbers of factors of `Blends` for each class. Of 256, four can be chosen in 10⁸ ways."""

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
    """Sums of a few rows of the data or, given a label, of its class.

    The sum of n deviations from the mean, divided by √n, has the covariance of the data, as a
    Gaussian has. But it keeps some of what is not Gaussian, such as the lines of images: the more,
    the fewer rows there are. With sixteen, samples are hardly more like single rows than unseen
    data is.

    If a class has too few rows for blends, all start from a `Gaussian`.

    Parameters
    ----------
    together
        The number of sums of four rows that are added up.
    """

    together: int = 4

    def __post_init__(self) -> None:
        check_integer("together", self.together, 1, MIN_FACTORS)

    def sampler(self, draw: DrawRows, condition: Condition, d: int, rng: Random) -> Sampler:
        """Return p₀(x | y) for x of d coordinates."""
        z = draw(GAUSSIAN_ROWS)
        group = condition.groups(z)
        classes = [_distinct(z[:d, group == g])[0] for g in range(condition.n_groups)]
        r = min(MAX_FACTORS, min(x.shape[1] for x in classes) // ADDED_ROWS)
        if r < MIN_FACTORS:
            return Gaussian().sampler(draw, condition, d, rng)
        means, factors = zip(*(_mean_and_sums(x, r, rng) for x in classes), strict=True)
        return BlendSampler(
            condition, torch.stack(means), torch.stack(factors), together=self.together
        )


def _mean_and_sums(x: Tensor, r: int, rng: Random) -> tuple[Tensor, Tensor]:
    """Return the mean (d, 1) of x (d, n), and r factors of its covariance, each of a few rows."""
    n = ADDED_ROWS * r
    rows = x[:, torch.from_numpy(rng.permutation(x.shape[1])[:n])]
    mean = rows.mean(dim=1, keepdim=True)
    sums = (rows - mean).reshape(len(x), ADDED_ROWS, r).sum(dim=1)
    return mean, sums / n**0.5


@dataclass(frozen=True, eq=False)
class GaussianSampler:
    """A Gaussian for each of G classes: means (G, d, 1), and factors of covariances (G, d, r)."""

    condition: Condition
    means: Tensor
    factors: Tensor

    def __call__(self, rng: Random, z: Tensor) -> Tensor:
        """Draw x, (d, M), for particles (D, M) whose conditions are given."""
        noise = rng.particles(z.new_empty(self.factors.shape[2], z.shape[1]))
        group = self.condition.groups(z)
        x = torch.empty_like(z[: self.means.shape[1]])
        for g, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            members = (group == g).nonzero().squeeze(1)
            for part in slices(len(members), BLOCK_COLUMNS):
                columns = members[part]
                weights = self.weights(noise[:, columns])
                x[:, columns] = mean.to(x) + matmul_by_columns(factor.to(x), weights)
        return x

    def weights(self, noise: Tensor) -> Tensor:
        """Return the weights of factors, (r, M): the noise itself."""
        return noise


@dataclass(frozen=True, eq=False)
class BlendSampler(GaussianSampler):
    """Sums of a few of the factors: of so many ``together``."""

    together: int = field(kw_only=True)

    def weights(self, noise: Tensor) -> Tensor:
        """Return the weights of factors, (r, M): equal for the largest noises, else zero."""
        chosen = noise.topk(self.together, dim=0).indices
        weight = (len(noise) / self.together) ** 0.5
        return torch.zeros_like(noise).scatter_(0, chosen, weight)


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
