"""Recorded maps: linear between knots, constant beyond the outermost; see `transport._knots`."""

from typing import NamedTuple

import numpy as np

GAP_BITS = 8
"""With so few bits, positions are stored as the gaps between them."""


class Maps(NamedTuple):
    """The maps of a step: knots as integers, (2, H, K), and their extremes, (2, H, 1) each."""

    knots: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def displacements(self, z: np.ndarray) -> np.ndarray:
        """Return T(z) − z for values z, (H, L)."""
        bits = 8 * self.knots.itemsize
        step = (self.high.astype(float) - self.low) / (2**bits - 1)
        zero = self.low + 2.0 ** (bits - 1) * step
        x = self.knots[0] * step[0] + zero[0] if bits > GAP_BITS else self._sums_of_gaps()
        knot = _count_below(x[:, 1:-1], z)  # the last one at or below each value
        row = np.arange(len(x))[:, None]
        left, right = x[row, knot], x[row, knot + 1]
        ends = (self.knots[1][row, knot + i] for i in (0, 1))
        move_left, move_right = (end * step[1] + zero[1] for end in ends)
        slope = (move_right - move_left) / np.maximum(right - left, 1e-30)
        slope[~np.isfinite(slope)] = 0  # two knots at one place: a jump
        inside = np.minimum(np.maximum(z, x[:, :1]), x[:, -1:])
        moved: np.ndarray = move_left + (inside - left) * slope + (inside - z)
        return moved

    def _sums_of_gaps(self) -> np.ndarray:
        """Return the positions of knots, (H, K), whose integers are square roots of gaps."""
        low = self.low[0].astype(float)
        gaps = (self.knots[0] + 128.0) ** 2 * ((self.high[0] - low) / 255**2)
        positions: np.ndarray = low + gaps.cumsum(axis=1)
        return positions


def _count_below(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return how many of the knots (H, K) of its row are at or below each value (H, L)."""
    if z.shape[1] < x.shape[1]:  # the fewer passes, the faster
        below: np.ndarray = (x[:, None] <= z[:, :, None]).sum(axis=2)
        return below
    count = np.zeros(z.shape, np.intp)
    for knot in x.T:
        count += knot[:, None] <= z
    return count
