"""The one-dimensional map T = F_q⁻¹ ∘ F_p from sorted values (appendix "CDF Estimations").

Rows are directions, each with its own map; values lie along the last dimension. The indices here
start at 0, those of the paper at 1.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from sliceflow.directions import BLOCK_DIRECTIONS, slices
from sliceflow.transport._histogram import HistogramMap, Values
from sliceflow.transport._knots import KnotMap


def sort(z: Tensor) -> Tensor:
    """Sort each row. On the CPU by NumPy, whose vectorised sort is much faster than torch's."""
    if z.device.type == "cpu":
        return torch.from_numpy(np.sort(z.numpy(), axis=-1))
    return z.sort(dim=-1).values


def cdf(z: Tensor, values: Tensor) -> Tensor:
    """Return F at ``values`` (H, L), for F estimated from sorted ``z`` (H, N).

    F(z') = I/N + 1/N · (z' − z_I) / (z_{I+1} − z_I), where I is the last index with z_I ≤ z': 0
    below the smallest value and (N − 1)/N from the largest on. A tie counts as its last value, as
    in any right-continuous CDF, so the denominator is never zero.
    """
    n = z.shape[-1]
    index = torch.searchsorted(z, values, right=True).sub_(1).clamp_(0, n - 1)
    low, high = z.gather(-1, index), z.gather(-1, (index + 1).clamp_(max=n - 1))
    between = (values > low) & (values < high)
    fraction = torch.where(between, (values - low) / (high - low), 0.0)
    return (index + fraction.double()) / n  # float32 cannot count beyond 2²⁴


def quantile(z: Tensor, a: Tensor) -> Tensor:
    """Return F⁻¹ at ``a`` (H, L) in [0, 1), for F estimated from sorted ``z`` (H, N).

    F⁻¹(a) = z_I + (a N − I) (z_{I+1} − z_I) with I = ⌊a N⌋; beyond the last value, that value.
    """
    n = z.shape[-1]
    position = a * n
    index = position.long().clamp_(max=n - 1)
    low, high = z.gather(-1, index), z.gather(-1, (index + 1).clamp_(max=n - 1))
    # Rounding may exceed ``high``: the minimum keeps the map monotone.
    return torch.minimum(low + (position - index).to(z.dtype) * (high - low), high)


@dataclass(frozen=True, eq=False)
class SortedMap:
    """T = F_q⁻¹ ∘ F_p for each row, from the sorted values of p (H, M) and q (H, N)."""

    p: Tensor
    q: Tensor

    @classmethod
    def between(cls, p: Tensor, q: Tensor) -> Self:
        """Return the map from the distribution of the values ``p`` to that of ``q``."""
        return cls(sort(p), sort(q))

    def __call__(self, z: Tensor) -> Tensor:
        """Return T(z), with shape (H, L)."""
        return quantile(self.q, cdf(self.p, z))

    def displace_(self, z: Tensor) -> None:
        """Replace values (H, L) by their displacements T(z) − z."""
        z.copy_(self(z) - z)


@dataclass(frozen=True)
class SortedTransport:
    """Maps from sorted values, in chunks of directions that fit into ``memory`` bytes."""

    memory: int

    def displace_(
        self, z: Tensor, p: Values, q: Values, knots: int | None = None
    ) -> KnotMap | None:
        """Replace values z by T(z) − z, with T = F_q⁻¹ ∘ F_p for each row; return its knots."""
        record = None if knots is None else HistogramMap.of(p, q).by_knots(knots)
        for rows in slices(len(z), chunk_size(self.memory, z.shape[1], q.z.shape[1])):
            SortedMap.between(p.z[rows], q.z[rows]).displace_(z[rows])
        return record


def chunk_size(memory: int, m: int, n: int) -> int:
    """Return the number of directions to map at a time, with m particles and n data rows.

    A block takes 4 bytes for each value. While they are mapped, values of data take 4 more bytes
    (the sorted copy) and those of particles about 60 more (the sorted copy, two indices and the
    values there, the rank in float64). The factors here also include the memory that the allocator
    was seen to keep.
    """
    block = 4 * BLOCK_DIRECTIONS * (m + n)
    return min(max(1, (memory - block) // (125 * m + 16 * n)), BLOCK_DIRECTIONS)
