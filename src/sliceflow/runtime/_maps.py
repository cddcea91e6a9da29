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
        step = (self.high - self.low.astype(float)) / (2**bits - 1)
        zero = self.low + 2.0 ** (bits - 1) * step
        x = self.knots[0] * step[0] + zero[0] if bits > GAP_BITS else self._sums_of_gaps()
        place, integers = x.ravel(), self.knots[1].ravel()
        at = _count_below(x[:, 1:-1], z)  # the last knot at or below each value
        at += np.arange(0, x.size, x.shape[1])[:, None]
        left, move_by = place.take(at), integers.take(at) * step[1] + zero[1]
        at += 1
        width, rise = place.take(at) - left, integers.take(at) * step[1] + zero[1] - move_by
        jump = np.zeros_like(rise)  # two knots at one place
        slope = np.divide(rise, width, out=jump, where=width > 1e-30)
        inside = np.minimum(np.maximum(z, x[:, :1]), x[:, -1:])
        moved: np.ndarray = move_by + (inside - left) * slope + (inside - z)
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
