"""The levels of the image pyramid: x at a smaller size, and back; see `directions._pyramid`."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np

from sliceflow.runtime._stages import Shape, Stage


@dataclass(frozen=True, eq=False)
class Level:
    """Images (C, h, w) at size a×b, u = Rᵀ x Q; without R, (h, a), and Q, (w, b), x itself."""

    shape: Shape
    rows: np.ndarray | None = None
    columns: np.ndarray | None = None

    @classmethod
    def of(cls, stage: Stage, shape: Shape, is_orthonormal: bool) -> Self:
        """Return the level of a stage."""
        if not stage.is_at_level or (is_orthonormal and stage.at_level == shape):
            return cls(shape)
        matrix = orthonormal if is_orthonormal else lanczos
        rows, columns = map(matrix, shape[1:], stage.at_level[1:])
        return cls(shape, rows, columns)

    def enter(self, x: np.ndarray) -> np.ndarray:
        """Return particles (D, M) in the coordinates of the level."""
        if self.rows is None or self.columns is None:
            return x
        return self._resample(self.rows.T, self.columns.T, x)

    def leave(self, u: np.ndarray) -> np.ndarray:
        """Return a change in these coordinates as a change of particles."""
        if self.rows is None or self.columns is None:
            return u
        return self._resample(self.rows, self.columns, u)

    def update(self, x: np.ndarray, u: np.ndarray) -> None:
        """Update particles x from their coordinates u."""
        if self.rows is not None:
            size = math.prod(self.shape)
            x[:size] += self.leave(u - self.enter(x))[:size]

    def _resample(self, rows: np.ndarray, columns: np.ndarray, x: np.ndarray) -> np.ndarray:
        (a, h), (b, w), m = rows.shape, columns.shape, x.shape[1]
        channels = self.shape[0]
        size = channels * h * w
        image = rows @ x[:size].reshape(channels, h, w * m)
        image = columns @ image.reshape(channels * a, w, m)
        return np.concatenate([image.reshape(channels * a * b, m), x[size:]])


def lanczos(n: int, k: int, lobes: int = 5) -> np.ndarray:
    """Return the matrix that resamples a line of k pixels to n pixels, (n, k)."""
    position = (np.arange(n) + 0.5) * k / n - 0.5
    t = position[:, None] - np.arange(k)
    weights = np.where(np.abs(t) < lobes, np.sinc(t) * np.sinc(t / lobes), 0.0)
    matrix: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
    return matrix


@cache
def orthonormal(n: int, k: int) -> np.ndarray:
    """Return the orthonormal basis nearest to the Lanczos matrix, (n, k)."""
    u, _, vt = np.linalg.svd(lanczos(n, k), full_matrices=False)
    basis: np.ndarray = u @ vt
    return basis
