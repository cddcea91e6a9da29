"""Recorded maps: linear between knots, constant beyond the outermost; see `transport._knots`."""

from typing import NamedTuple

import numpy as np


class Maps(NamedTuple):
    """The maps of a step: knots as integers, (2, H, K), and their extremes, (2, H, 1) each."""

    knots: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def displacements(self, z: np.ndarray) -> np.ndarray:
        """Return T(z) − z for values z, (H, L)."""
        x, move_by = self._unpacked()
        rise, width = move_by[:, 1:] - move_by[:, :-1], x[:, 1:] - x[:, :-1]
        slope = rise / np.maximum(width, 1e-30)
        slope[~np.isfinite(slope)] = 0  # two knots at one place: a jump
        knot = _count_below(x[:, 1:-1], z)  # the last one at or below each value
        row = np.arange(len(x))[:, None]
        inside = np.minimum(np.maximum(z, x[:, :1]), x[:, -1:])
        along = (inside - x[row, knot]) * slope[row, knot]
        moved: np.ndarray = move_by[row, knot] + along + (inside - z)
        return moved

    def _unpacked(self) -> np.ndarray:
        """Return the positions and the displacements of knots, (2, H, K)."""
        bits = 8 * self.knots.itemsize
        step = (self.high.astype(float) - self.low) / (2**bits - 1)
        values: np.ndarray = self.low + (self.knots + 2.0 ** (bits - 1)) * step
        return values


def _count_below(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return how many of the knots (H, K) of its row are at or below each value (H, L)."""
    if z.shape[1] < x.shape[1]:  # the fewer passes, the faster
        return np.stack([(x <= column[:, None]).sum(axis=1) for column in z.T], axis=1)
    count = np.zeros(z.shape, np.intp)
    for knot in x.T:
        count += knot[:, None] <= z
    return count
