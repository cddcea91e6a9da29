"""Where the data has conditions: a flow knows nothing beyond them.

A particle whose condition is far from that of any row would be moved by maps that were made from
other particles, and x would absorb the difference. So a number that is given beyond the outermost
rows counts as theirs, when a flow is fitted and when it is sampled. Up to `MAX_EDGE_ROWS` rows at
each end of a column share one value, so that an outlier does not stretch its range.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

MAX_EDGE_ROWS = 12
"""Rows at each end of a column that share one value; one in a hundred, if that is less."""


@dataclass(frozen=True, eq=False)
class Support:
    """Which coordinates of particles (D, M) are given numbers, (k,), and where the data has rows.

    Parameters
    ----------
    given
        The numbers of these coordinates.
    edges
        The values, (k, 2), beyond which there are too few rows.
    ends
        The least and the largest value of the data, (k, 2).
    """

    given: Tensor
    edges: Tensor
    ends: Tensor

    @classmethod
    def of(cls, z: Tensor, given: Tensor) -> Self:
        """Return where the given coordinates of these particles are."""
        values = z[given].double().sort(dim=1).values
        n = max(z.shape[1], 1)
        edge_rows = min(MAX_EDGE_ROWS, max(1, n // 100))
        edges, ends = values[:, [edge_rows - 1, n - edge_rows]], values[:, [0, n - 1]]
        is_one_value = edges[:, :1] == edges[:, 1:]  # the few other rows must stay distinct
        return cls(given, torch.where(is_one_value, ends, edges), ends)

    def clip(self, z: Tensor) -> Tensor:
        """Return particles whose given numbers are where the data has rows."""
        if not len(self.given):
            return z
        edges, z = self.edges.to(z), z.clone()
        z[self.given] = z[self.given].clamp(edges[:, :1], edges[:, 1:])
        return z

    def warn_beyond(self, values: Tensor, names: Sequence[str]) -> None:
        """Warn of given numbers, (k, n), beyond all data, by the names of all coordinates."""
        if not len(self.given):
            return
        for i, value, (low, high) in zip(self.given, values, self.ends.tolist(), strict=True):
            if ((value < low) | (value > high)).any():
                warnings.warn(
                    f"{names[i]} is given beyond the data, which has {low:.6g} to {high:.6g}: "
                    "samples are those of the nearest value that the data has",
                    stacklevel=5,
                )
