"""A map as few points: for particles that it was not made from.

T = F_q⁻¹ ∘ F_p follows every particle of p, to the outermost. That is right for these particles:
what a step does to them the next one sees. Others would be moved by what happens to one or two of
them, by chance, and nothing sees it: step after step it adds up. They move as many do on average.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from sliceflow.transport.histogram import HistogramMap, is_compiled
from sliceflow.transport.kernels import interpolate_rows

KNOTS = 128
"""Parts of p, and of q, whose means are knots."""


@dataclass(frozen=True, eq=False)
class KnotMap:
    """Lines between knots, and level beyond the outermost: `numpy.interp` for each row.

    Parameters
    ----------
    x, move_by
        Where the knots are and by how much they move, (H, K) each; x ascends along a row.
    """

    x: Tensor
    move_by: Tensor

    @classmethod
    def of(cls, T: HistogramMap, parts: int = KNOTS) -> Self:
        """Return the map that takes the mean of each of so many equal parts of p to that of q.

        The outermost lines go on to the extremes of p, but not beyond those of q.
        """
        ends = torch.linspace(0, 1, parts + 1, dtype=torch.float64, device=T.start.device)
        (x, low, high), (y, least, most) = (
            (side.means(ends), side.grid.low[:, None], side.grid.high[:, None])
            for side in (T.p, T.q)
        )
        slope = (y.diff(dim=1) / x.diff(dim=1)).nan_to_num(0, 0, 0)
        first = y[:, :1] + slope[:, :1] * (low - x[:, :1])
        last = y[:, -1:] + slope[:, -1:] * (high - x[:, -1:])
        x = torch.cat([low, x, high], dim=1).cummax(dim=1).values
        y = torch.cat([first, y, last], dim=1).clamp(least, most).cummax(dim=1).values
        return cls(x.to(T.start.dtype), (y - x).to(T.start.dtype))

    def move(self, z: Tensor) -> None:
        """Replace values (H, L) by their displacements T(z) − z."""
        if is_compiled(z):
            interpolate_rows(z.numpy(), self.x.numpy(), self.move_by.numpy())
            return
        i = torch.searchsorted(self.x[:, 1:-1].contiguous(), z.contiguous(), right=True)
        slope = self.move_by.diff(dim=1) / self.x.diff(dim=1).clamp(min=1e-30)
        inside = z.clamp(self.x[:, :1], self.x[:, -1:])
        along = (inside - self.x.gather(1, i)) * slope.gather(1, i)
        z.copy_(self.move_by.gather(1, i) + along + (inside - z))
