"""Units and axes in which the flow moves columns: their own, or others.

Normal scores are best for columns with skew, heavy tails or values that occur often. For all others
they would only bend what is straight, such as a line or the border of a cluster. Flat columns, such
as uniform ones, are of both kinds: scores keep particles within their sharp ends, but bend the
shape that several such columns have together.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from sliceflow.codec._scores import NormalScores
from sliceflow.directions._operator import matmul_by_columns

MAX_SKEWNESS, MAX_KURTOSIS, MAX_TIED = 0.5, 4.0, 0.01
"""Columns within all three keep their units. The last is the share of equal neighbours."""

MIN_KURTOSIS = 2.4
"""Columns below this are flat, with sharp ends: a uniform column has 1.8."""


@dataclass(frozen=True, eq=False)
class Units:
    """Converts columns to the units of the flow, and back; no sample is beyond the data.

    Parameters
    ----------
    scores
        The normal scores of all c columns.
    kept
        The columns, (c,), that keep their own units.
    """

    scores: NormalScores
    kept: Tensor

    @classmethod
    def of(cls, x: Tensor, keep_flat: bool = True) -> Self:
        """Choose units for columns (c, n), which have mean 0 and standard deviation 1."""
        x, scores = x.double(), NormalScores.of(x)
        skewness, kurtosis = x.pow(3).mean(dim=1), x.pow(4).mean(dim=1)
        tied = (scores.values.diff(dim=1) == 0).double().mean(dim=1)
        kept = (skewness.abs() <= MAX_SKEWNESS) & (kurtosis <= MAX_KURTOSIS) & (tied <= MAX_TIED)
        return cls(scores, kept & (keep_flat | (kurtosis >= MIN_KURTOSIS)))

    def forward(self, x: Tensor) -> Tensor:
        """Return columns (c, M) in the units of the flow, in float64."""
        return torch.where(self.kept[:, None], x.double(), self.scores.forward(x))

    def inverse(self, z: Tensor) -> Tensor:
        """Return columns (c, M) in their own units, in float64.

        Where columns keep their units, what is beyond the data is reflected at its ends: clipped,
        it would pile up there.
        """
        low, high = self.scores.values[:, :1], self.scores.values[:, -1:]
        own = z.double()
        own = torch.where(own < low, 2 * low - own, own)
        own = torch.where(own > high, 2 * high - own, own).clamp(low, high)
        return torch.where(self.kept[:, None], own, self.scores.inverse(z))


@dataclass(frozen=True, eq=False)
class Frame:
    """Converts columns to units and axes of the flow, and back.

    Parameters
    ----------
    units
        The units of all c columns.
    axes
        The axes, as orthonormal columns, (c, c).
    """

    units: Units
    axes: Tensor

    @classmethod
    def of(cls, x: Tensor, keep_flat: bool = True) -> Self:
        """Choose units for columns (c, n), which have mean 0 and standard deviation 1."""
        return cls(Units.of(x, keep_flat), torch.eye(len(x), dtype=torch.float64))

    def rotated(self, axes: Tensor) -> Self:
        """Return the frame with other axes, (c, c)."""
        return replace(self, axes=axes)

    def forward(self, x: Tensor) -> Tensor:
        """Return columns (c, M) along the axes, in float64."""
        return matmul_by_columns(self.axes.T, self.units.forward(x))

    def inverse(self, z: Tensor) -> Tensor:
        """Return columns (c, M) in their own units, in float64."""
        return self.units.inverse(matmul_by_columns(self.axes, z.double()))
