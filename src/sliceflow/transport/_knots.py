"""A map as few points: for particles that it was not made from.

T = F_q⁻¹ ∘ F_p follows every particle of p, to the outermost. That is right for these particles:
what a step does to them the next one sees. Others would be moved by what happens to one or two of
them, by chance, and nothing sees it: step after step it adds up. They move as many do on average.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
import torch
from torch import Tensor

from sliceflow.transport._histogram import HistogramMap, is_compiled
from sliceflow.transport._kernels import interpolate_packed_rows, interpolate_rows

KNOTS = 64
"""Parts of p, and of q, whose means are knots, if there are enough values."""


MIN_VALUES_PER_PART = 12
"""Values in a part, at least: the mean of fewer is chance, and that adds up step by step."""


@cache
def part_ends(parts: int, n: int) -> Tensor:
    """Return the shares of n values at which parts begin and end: as many, or as n allows.

    Parts are smaller towards both ends, since a heavy tail has much of the variance in few values,
    but none has less than `MIN_VALUES_PER_PART` of them.
    """
    parts = max(2, min(parts, n // MIN_VALUES_PER_PART))
    # by NumPy: if two threads ask PyTorch for its first sines at once, last bits may differ
    shares = np.diff(np.sin(np.linspace(0, math.pi / 2, parts + 1)) ** 2)
    least = min(MIN_VALUES_PER_PART / n, 1 / parts)
    for j in range(parts // 2 + 1):  # so many at either end have the least
        middle = shares[j : parts - j]
        middle = middle * (1 - 2 * j * least) / middle.sum()
        if (middle >= least).all():
            break
    ends = np.cumsum([0.0, *[least] * j, *middle, *[least] * j])
    ends[-1] = 1
    return torch.from_numpy(ends)


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

        If there are too few values, there are fewer parts, and the last knot is there several
        times. The outermost lines go on to the extremes of p, but not beyond those of q.
        """
        ends = part_ends(parts, min(int(side.counts[0].sum()) for side in (T.p, T.q)))
        (x, low, high), (y, least, most) = (
            (side.means(ends), side.grid.low[:, None], side.grid.high[:, None])
            for side in (T.p, T.q)
        )
        slope = (y.diff(dim=1) / x.diff(dim=1)).nan_to_num(0, 0, 0)
        first = y[:, :1] + slope[:, :1] * (low - x[:, :1])
        last = y[:, -1:] + slope[:, -1:] * (high - x[:, -1:])
        again = 1 + parts + 1 - len(ends)
        x = torch.cat([low, x, high.expand(-1, again)], dim=1).cummax(dim=1).values
        y = torch.cat([first, y, last.expand(-1, again)], dim=1)
        y = y.clamp(least, most).cummax(dim=1).values
        return cls(x.to(T.start.dtype), (y - x).to(T.start.dtype))

    @classmethod
    def joined(cls, maps: list[Self]) -> Self | None:
        """Return the maps of all rows, one after the other; None if there are none."""
        if not maps:
            return None
        return cls(torch.cat([T.x for T in maps]), torch.cat([T.move_by for T in maps]))

    def packed(self, bits: int = 16) -> "PackedMap":
        """Return the map with its numbers as integers of this width."""
        return PackedMap.of(torch.stack([self.x, self.move_by]).cpu(), bits)

    def move(self, z: Tensor) -> None:
        """Replace values (H, L) by their displacements T(z) − z."""
        if is_compiled(z):
            interpolate_rows(z.numpy(), self.x.numpy(), self.move_by.numpy())
            return
        i = torch.searchsorted(self.x[:, 1:-1].contiguous(), z.contiguous(), right=True)
        slope = self.move_by.diff(dim=1) / self.x.diff(dim=1).clamp(min=1e-30)
        slope = torch.where(slope.isfinite(), slope, 0.0)  # a jump has no slope
        inside = z.clamp(self.x[:, :1], self.x[:, -1:])
        along = (inside - self.x.gather(1, i)) * slope.gather(1, i)
        z.copy_(self.move_by.gather(1, i) + along + (inside - z))


INTEGER_TYPES = {16: torch.int16, 32: torch.int32}


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
        return cls(integers.to(INTEGER_TYPES[bits]), low.float(), high.float())

    @classmethod
    def joined(cls, maps: list[Self]) -> Self | None:
        """Return the maps of all rows, one after the other; None if there are none."""
        if not maps:
            return None
        parts = zip(*(T.tensors for T in maps), strict=True)
        return cls(*(torch.cat(part, dim=1) for part in parts))

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """All that it is."""
        return self.knots, self.low, self.high

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return sum(tensor.nbytes for tensor in self.tensors)

    def reserve(self, n: int) -> list[Self]:
        """Return n maps of this size, not filled in yet, that lie together in memory."""
        places = (tensor.new_empty(n, *tensor.shape) for tensor in self.tensors)
        return [type(self)(*place) for place in zip(*places, strict=True)]

    def copy_(self, other: Self) -> None:
        """Become another map of this size."""
        for tensor, values in zip(self.tensors, other.tensors, strict=True):
            tensor.copy_(values)

    def __reduce__(self) -> tuple[type[Self], tuple[Tensor, ...]]:
        return type(self), tuple(map(torch.clone, self.tensors))  # without what it lies beside

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(*(tensor[:, rows] for tensor in self.tensors))

    def move(self, z: Tensor) -> None:
        """Replace values (H, L) by their displacements T(z) − z."""
        if not is_compiled(z):
            self.unpacked().move(z)
            return
        knots, low, high = self.knots.numpy(), self.low.numpy(), self.high.numpy()
        half = np.float32(2 ** (8 * self.knots.element_size() - 1))
        interpolate_packed_rows(z.numpy(), knots, low, high, half)

    def to(self, device: torch.device) -> Self:
        """Return the map on a device."""
        if device == self.knots.device:
            return self
        return type(self)(*(tensor.to(device) for tensor in self.tensors))

    def unpacked(self) -> KnotMap:
        """Return the map in float32."""
        bits = 8 * self.knots.element_size()
        step = (self.high - self.low) / (2**bits - 1)
        return KnotMap(*(self.low + (self.knots.float() + 2 ** (bits - 1)) * step))
