"""Directions of a table's columns together with a summary of what is given.

The paper amplifies the part of a direction that belongs to y by one ξ. Here x and the summary are
rotated together, so that the share of the summary varies from direction to direction: some compare
x given almost exactly the same summary, others see x almost alone.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sliceflow.core._random import Random
from sliceflow.directions._operator import DenseRows, Projection
from sliceflow.directions._tiles import rotations


@dataclass(frozen=True)
class Joint:
    """Orthonormal directions of d columns, the prediction of each, and more of the summary.

    Columns are dealt into groups at random, each with its own predictions and a share of the rest
    of the summary, and each group is rotated by itself. Small groups show how single columns
    depend on their predictions; large ones, how all columns depend on each other.

    Parameters
    ----------
    d
        The number of columns.
    summary
        The number of coordinates of the summary, of which the first d belong to the columns.
    carried
        The number of coordinates below the summary, which no direction sees.
    sizes
        Maximum numbers of columns in a group; each step draws one of them.
    """

    d: int
    summary: int
    carried: int
    sizes: tuple[int, ...]

    def draw(self, rng: Random, like: Tensor) -> Projection:
        """Draw the directions of a step, of the dtype and on the device of ``like``."""
        size = self.sizes[rng.integer(len(self.sizes))]
        columns = torch.from_numpy(rng.permutation(self.d))
        rest = 2 * self.d + torch.from_numpy(rng.permutation(self.summary - self.d))
        n, seen = -(-self.d // size), self.d + self.summary
        theta, first = torch.zeros(seen, seen + self.carried, dtype=torch.float64), 0
        for number in range(n):
            own = columns[number::n]
            group = torch.cat([own, self.d + own, rest[number::n]])
            rows = torch.arange(first, first + len(group))
            theta[rows[:, None], group] = rotations(rng, 1, len(group))[0]
            first += len(group)
        return Projection(DenseRows(theta.to(like)))
