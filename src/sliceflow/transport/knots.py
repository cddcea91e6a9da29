"""A map as few points: for particles that it was not made from.

T = F_q⁻¹ ∘ F_p follows every particle of p, to the outermost. That is right for these particles:
what a step does to them the next one sees. Others would be moved by what happens to one or two of
them, by chance, and nothing sees it: step after step it adds up. They move as many do on average.
"""

import math
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from sliceflow.transport.histogram import HistogramMap, is_compiled
from sliceflow.transport.kernels import interpolate_rows

KNOTS = 64
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
    def of(cls, T: HistogramMap, parts: int) -> Self:
        """Return the map that takes the mean of each of so many parts of p to that of q.

        Parts are smaller towards both ends: a heavy tail has much of the variance in few values.
        The outermost lines go on to the extremes of p, but not beyond those of q.
        """
        angles = torch.linspace(0, math.pi / 2, parts + 1, dtype=torch.float64)
        ends = angles.sin().square()
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

    @classmethod
    def joined(cls, maps: list[Self]) -> Self | None:
        """Return the maps of all rows, one after the other; None if there are none."""
        if not maps:
            return None
        return cls(torch.cat([T.x for T in maps]), torch.cat([T.move_by for T in maps]))

    def packed(self, bits: int) -> "PackedMap":
        """Return the map with its numbers as integers of so many bits."""
        return PackedMap.of(torch.stack([self.x, self.move_by]).cpu(), bits)

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


INTEGERS = {16: torch.int16, 32: torch.int32}


@dataclass(frozen=True, eq=False)
class PackedMap:
    """A `KnotMap` to be kept: where knots are and by how much they move, as integers.

    Parameters
    ----------
    knots
        Both, (2, H, K). The least and the largest integer are the extremes of a row.
    low, high
        These extremes, (2, H, 1) each.
    """

    knots: Tensor
    low: Tensor
    high: Tensor

    @classmethod
    def of(cls, values: Tensor, bits: int) -> Self:
        """Pack values (2, H, K)."""
        values = values.double()
        low, high = values.aminmax(dim=2, keepdim=True)
        share = (values - low) / (high - low).clamp(min=1e-30)
        integers = (share * (2**bits - 1)).round() - 2 ** (bits - 1)
        return cls(integers.to(INTEGERS[bits]), low.float(), high.float())

    @classmethod
    def joined(cls, maps: list[Self]) -> Self | None:
        """Return the maps of all rows, one after the other; None if there are none."""
        if not maps:
            return None
        parts = zip(*((T.knots, T.low, T.high) for T in maps), strict=True)
        return cls(*(torch.cat(part, dim=1) for part in parts))

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self.knots.nbytes + self.low.nbytes + self.high.nbytes

    def unpacked(self) -> KnotMap:
        """Return the map in float32."""
        bits = 8 * self.knots.element_size()
        step = (self.high - self.low) / (2**bits - 1)
        return KnotMap(*(self.low + (self.knots.float() + 2 ** (bits - 1)) * step))
