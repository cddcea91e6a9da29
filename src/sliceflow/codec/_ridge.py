"""Ridge regression in closed form, with its penalty and its leave-one-out predictions.

The penalty is chosen by generalised cross-validation (Golub et al. 1979).
"""

import math
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

PENALTIES = torch.logspace(1, -7, 25, dtype=torch.float64)
"""Penalties that are tried, as fractions of the largest eigenvalue; the first if none suits."""

MAX_FREEDOM = 0.5
"""Maximum degrees of freedom of a candidate, as a fraction of the rows."""


@dataclass(frozen=True, eq=False)
class Ridge:
    """Features in their principal axes, for all penalties and targets at once.

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
