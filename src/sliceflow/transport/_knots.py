"""Maps with a few knots, for particles from which the maps were not estimated.

T = F_q⁻¹ ∘ F_p follows every single particle of p, up to the outermost. That is right for these
particles, because the next step sees where they went and corrects it. Other particles are not seen.
If they followed single particles of p, random errors would add up step by step. So they follow
means of many particles.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
import torch
from torch import Tensor

from sliceflow.transport._kernels import (
    interpolate_packed_rows,
    is_compiled,
    keep_farthest,
)

KNOTS = 64
"""Default number of parts of p, and of q, whose means are the knots."""

MIN_VALUES_PER_PART = 12
"""Minimum number of values in a part: means of fewer are noisy, and noise adds up over steps."""


@cache
def part_ends(parts: int, n: int) -> Tensor:
    """Return the fractions of n sorted values at which parts begin and end, from 0 to 1.

    There are ``parts`` parts, or fewer if n is small. They get smaller towards both ends, because a
    heavy tail has much of the variance in few values, but none has fewer values than
    `MIN_VALUES_PER_PART`.
    """
    parts = max(2, min(parts, n // MIN_VALUES_PER_PART))
    # Not by PyTorch: if two threads compute its first sines at once, the last bits may differ.
    fractions = np.diff(np.sin(np.linspace(0, math.pi / 2, parts + 1)) ** 2)
    minimum = min(MIN_VALUES_PER_PART / n, 1 / parts)
    for j in range(parts // 2 + 1):  # j parts at either end have the minimum size
        middle = fractions[j : parts - j]
        middle = middle * (1 - 2 * j * minimum) / middle.sum()
        if (middle >= minimum).all():
            break
    ends = np.cumsum([0.0, *[minimum] * j, *middle, *[minimum] * j])
    ends[-1] = 1
    return torch.from_numpy(ends)


@dataclass(frozen=True, eq=False)
class KnotMap:
    """Linear between knots, constant beyond the outermost: `numpy.interp` for each row.

    Parameters
    ----------
    x, move_by
        Positions of the knots, in ascending order, and their displacements, (H, K) each.
    """

    x: Tensor
    move_by: Tensor

    @classmethod
    def joined(cls, maps: list[Self]) -> Self | None:
        """Return the maps of all rows, one after the other; None if there are none."""
        if not maps:
            return None
        return cls(torch.cat([T.x for T in maps]), torch.cat([T.move_by for T in maps]))

    def times(self, factor: Tensor) -> Self:
        """Return the maps whose displacements are multiplied by a factor for each row, (H, 1)."""
        return type(self)(self.x, self.move_by * factor)

    def thinned(self, knots: int) -> Self:
        """Return the map with only this number of its knots.

        Beginning with both ends, the knot that is farthest from the lines between those that are
        kept is kept too, again and again (Douglas and Peucker).
        """
        x, move_by = self.x.numpy(), self.move_by.numpy()
        kept = np.zeros(x.shape, bool)
        keep_farthest(x, move_by, knots, kept)
        rows = (torch.from_numpy(a[kept].reshape(len(a), -1)) for a in (x, move_by))
        return type(self)(*rows)

    def packed(self, bits: int = 16) -> "PackedMap":
        """Return the map with its knots as integers of this width."""
        return PackedMap.of(torch.stack([self.x, self.move_by]).cpu(), bits)

    def displace_(self, z: Tensor) -> None:
        """Replace values (H, L) by their displacements T(z) − z."""
        i = torch.searchsorted(self.x[:, 1:-1].contiguous(), z.contiguous(), right=True)
        slope = self.move_by.diff(dim=1) / self.x.diff(dim=1).clamp(min=1e-30)
        slope = torch.where(slope.isfinite(), slope, 0.0)  # two knots at one place: a jump
        inside = z.clamp(self.x[:, :1], self.x[:, -1:])
        along = (inside - self.x.gather(1, i)) * slope.gather(1, i)
        z.copy_(self.move_by.gather(1, i) + along + (inside - z))


INTEGER_TYPES = {8: torch.int8, 16: torch.int16, 32: torch.int32}

GAP_BITS = 8
"""With so few bits, positions are stored as the gaps between them, so that they are precise where
they are close together. Labels move values far apart, so one width would be too coarse for all."""


@dataclass(frozen=True, eq=False)
class PackedMap:
    """A `KnotMap` with its knots as integers, which take less memory.

    Parameters
    ----------
    knots
        Positions and displacements, (2, H, K). The smallest and the largest integer stand for the
        extremes of a row. Positions of `GAP_BITS` are square roots of gaps: the smallest integer
        stands for no gap, and the largest for the largest gap of the row.
    low, high
        These extremes, (2, H, 1) each; for gaps, the first position, and that plus the largest gap.
    """

    knots: Tensor
    low: Tensor
    high: Tensor

    @classmethod
    def of(cls, values: Tensor, bits: int) -> Self:
        """Pack values (2, H, K)."""
        values = values.double()
        low, high = values.aminmax(dim=2, keepdim=True)
        if bits == GAP_BITS:
            high[0] = low[0] + values[0].diff(dim=1).amax(dim=1, keepdim=True)
        low, high = low.float(), high.float()
        width = (high.double() - low).clamp(min=1e-30)
        share = (values - low) / width
        if bits == GAP_BITS:
            share[0] = roots_of_gaps(share[0], 2**bits - 1)
        integers = (share * (2**bits - 1)).round() - 2 ** (bits - 1)
        return cls(integers.to(INTEGER_TYPES[bits]), low, high)

    @classmethod
    def joined(cls, maps: list[Self]) -> Self | None:
        """Return the maps of all rows, one after the other; None if there are none."""
        if not maps:
            return None
        parts = zip(*(T.tensors for T in maps), strict=True)
        return cls(*(torch.cat(part, dim=1) for part in parts))

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """The tensors of the map."""
        return self.knots, self.low, self.high

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return sum(tensor.nbytes for tensor in self.tensors)

    def reserve(self, n: int) -> list[Self]:
        """Allocate n maps of this size in one piece of memory, not filled in yet."""
        stacked = (tensor.new_empty(n, *tensor.shape) for tensor in self.tensors)
        return [type(self)(*tensors) for tensors in zip(*stacked, strict=True)]

    def copy_(self, other: Self) -> None:
        """Copy another map of this size into this one."""
        for tensor, values in zip(self.tensors, other.tensors, strict=True):
            tensor.copy_(values)

    def __reduce__(self) -> tuple[type[Self], tuple[Tensor, ...]]:
        # Clones, without the memory of the other maps of `reserve`.
        return type(self), tuple(map(torch.clone, self.tensors))

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(*(tensor[:, rows] for tensor in self.tensors))

    def displace_(self, z: Tensor) -> None:
        """Replace values (H, L) by their displacements T(z) − z."""
        if not is_compiled(z):
            self.unpacked().displace_(z)
            return
        knots, low, high = self.knots.numpy(), self.low.numpy(), self.high.numpy()
        half = np.float32(2 ** (self._bits - 1))
        interpolate_packed_rows(z.numpy(), knots, low, high, half, self._bits == GAP_BITS)

    def to(self, device: torch.device) -> Self:
        """Return the map on a device."""
        if device == self.knots.device:
            return self
        return type(self)(*(tensor.to(device) for tensor in self.tensors))

    def unpacked(self) -> KnotMap:
        """Return the map in float32."""
        integers = self.knots.float() + 2 ** (self._bits - 1)
        x, move_by = self.low + integers * ((self.high - self.low) / (2**self._bits - 1))
        if self._bits == GAP_BITS:
            width = (self.high[0].double() - self.low[0]) / (2**self._bits - 1) ** 2
            gaps = integers[0].double().square() * width
            x = (self.low[0] + gaps.cumsum(dim=1)).float()
        return KnotMap(x, move_by)

    @property
    def ascends(self) -> bool:
        """Whether the positions of each row ascend. With gaps between them they always do."""
        x = self.knots[..., 0, :, :]  # of one map, or of the maps of many steps
        return self._bits == GAP_BITS or not bool((x[..., 1:] < x[..., :-1]).any())

    @property
    def _bits(self) -> int:
        return 8 * self.knots.element_size()


def roots_of_gaps(x: Tensor, largest: int) -> Tensor:
    """Return the square roots of the gaps before positions (H, K), as multiples of 1/largest.

    Each gap makes up for what rounding the gaps before it has left.
    """
    roots, position = torch.zeros_like(x), torch.zeros_like(x[:, 0])
    for k in range(1, x.shape[1]):
        gap = (x[:, k] - position).clamp(0, 1)
        roots[:, k] = (gap.sqrt() * largest).round() / largest
        position = position + roots[:, k].square()
    return roots
