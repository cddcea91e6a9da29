"""Residuals with two modes, one on each side of the prediction: the gap between them is closed.

If y tells only the size of a column and not its sign, residuals lie at about ±m(y). The shape of
the two modes may not depend on y at all, but how far they are apart does. With the gap closed, the
flow need not learn the same shape anew for each distance, and no particle is left in between.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

MAX_RELATIVE = 0.4
"""Sizes of residuals with two modes deviate from their prediction by less than this part of it."""

MIN_ROWS = 100
"""With fewer rows, two modes may be there by chance."""

SLACK = 2.0
"""A mode begins this many standard deviations below the predicted size."""

LEFT = 0.01
"""The part of a gap that is left: it shrinks, and does not vanish, so that it can be opened."""


def have_two(residuals: Tensor, log_variance: Tensor) -> Tensor:
    """Return which columns of residuals, (d, n), have two modes: their numbers, (F,)."""
    sizes = residuals.abs() * (-log_variance / 2).exp()
    are_close = sizes.std(dim=1) < MAX_RELATIVE * sizes.mean(dim=1)
    return (are_close & (sizes.shape[1] >= MIN_ROWS)).nonzero().squeeze(1)


@dataclass(frozen=True, eq=False)
class Modes:
    """Closes and opens the gap of some columns of residuals.

    Parameters
    ----------
    columns
        The numbers of the columns with two modes, (F,).
    slack
        How far below the predicted size a mode begins, (F, 1).
    """

    columns: Tensor
    slack: Tensor

    @classmethod
    def of(cls, columns: Tensor, residuals: Tensor, sizes: Tensor) -> Self:
        """Return the modes of some columns of residuals, (d, n), with predicted sizes, (F, n)."""
        deviation = (residuals[columns].abs() - sizes).std(dim=1, keepdim=True)
        return cls(columns, SLACK * deviation)

    def close(self, residuals: Tensor, sizes: Tensor) -> Tensor:
        """Return residuals, (d, n), with closed gaps, for predicted sizes, (F, n)."""
        size, gap = residuals.abs(), self._gap(residuals, sizes)
        return residuals.sign() * torch.maximum(LEFT * size, size - (1 - LEFT) * gap)

    def open(self, closed: Tensor, sizes: Tensor) -> Tensor:
        """Return the residuals, (d, n), of which these are the closed ones."""
        size, gap = closed.abs(), self._gap(closed, sizes)
        return closed.sign() * torch.minimum(size / LEFT, size + (1 - LEFT) * gap)

    def _gap(self, residuals: Tensor, sizes: Tensor) -> Tensor:
        """Return half the width of each gap, which is 0 for columns without one."""
        gap = torch.zeros_like(residuals)
        gap[self.columns] = (sizes - self.slack).clamp(min=0)
        return gap


NO_MODES = Modes(torch.empty(0, dtype=torch.long), torch.empty(0, 1, dtype=torch.float64))
