"""The range of given numbers in the data: a flow knows nothing beyond it.

If a particle's condition were far from that of any row, the maps would move it as they move other
particles, and x would absorb the difference. So given numbers are clipped to the range of the data,
both in a fit and in sampling. Up to `MAX_EDGE_ROWS` rows at each end of a column are clipped too,
so that an outlier does not stretch the range.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from sliceflow.core._warnings import warn_user

MAX_EDGE_ROWS = 12
"""Maximum number of rows at each end of a column that are clipped to one value; at most 1 %."""


@dataclass(frozen=True, eq=False)
class Support:
    """The range, in the data, of those coordinates of particles (D, M) that are given numbers.

    Parameters
    ----------
    given
        The indices of these coordinates, (k,).
    edges
        The lower and the upper value, (k, 2), to which numbers are clipped.
    ends
        The smallest and the largest value in the data, (k, 2).
    """

    given: Tensor
    edges: Tensor
    ends: Tensor

    @classmethod
    def of(cls, z: Tensor, given: Tensor) -> Self:
        """Return the range of the given coordinates of these particles."""
        values = z[given].double().sort(dim=1).values
        n = max(z.shape[1], 1)
        edge_rows = min(MAX_EDGE_ROWS, max(1, n // 100))
        edges, ends = values[:, [edge_rows - 1, n - edge_rows]], values[:, [0, n - 1]]
        is_one_value = edges[:, :1] == edges[:, 1:]  # the few other rows must stay distinct
        return cls(given, torch.where(is_one_value, ends, edges), ends)

    def clip(self, z: Tensor) -> Tensor:
        """Return particles with their given numbers clipped."""
        if not len(self.given):
            return z
        edges, z = self.edges.to(z), z.clone()
        z[self.given] = z[self.given].clamp(edges[:, :1], edges[:, 1:])
        return z

    def warn_beyond(self, values: Tensor, names: Sequence[str]) -> None:
        """Warn if given numbers, (k, n), are beyond the data; all coordinates have names."""
        if not len(self.given):
            return
        for i, value, (low, high) in zip(self.given, values, self.ends.tolist(), strict=True):
            if ((value < low) | (value > high)).any():
                warn_user(
                    f"{names[i]} is given beyond the data, which ranges from {low:.6g} to "
                    f"{high:.6g}: samples are those of the nearest value in the data"
                )
