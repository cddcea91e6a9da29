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
        width = np.maximum(np.diff(x), np.float32(1e-30))
        slope = np.diff(move_by) / width
        slope[~np.isfinite(slope)] = 0  # two knots at one place: a jump
        knot = np.zeros(z.shape, np.intp)  # the last one at or below each value
        for inner in x[:, 1:-1].T:
            knot += inner[:, None] <= z
        inside = z.clip(x[:, :1], x[:, -1:])
        start, from_, rise = (np.take_along_axis(a, knot, 1) for a in (move_by, x, slope))
        moved: np.ndarray = start + (inside - from_) * rise + (inside - z)
        return moved

    def _unpacked(self) -> np.ndarray:
        """Return the positions and the displacements of knots, (2, H, K)."""
        bits = 8 * self.knots.itemsize
        step = (self.high - self.low) / np.float32(2**bits - 1)
        values: np.ndarray = (
            self.low + (self.knots.astype(np.float32) + np.float32(2 ** (bits - 1))) * step
        )
        return values
