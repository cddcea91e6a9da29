"""Targets of a flow: they return data in batches, so that it need not fit in memory."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from sliceflow.core._random import Key, Random
from sliceflow.directions._pyramid import Level

DrawRows = Callable[[int], Tensor]
"""Draws n rows of all data, (D, n)."""


class Target(Protocol):
    """The data distribution q, or a shard of it. Its rows are the columns of a (D, N) matrix."""

    def part(self, key: Key, ahead: Key | None = None) -> "ArrayTarget":
        """Return a random part of this target, as large as a step may see.

        ``ahead`` is the key of the next call, for targets that read ahead.
        """

    def batch(self, key: Key, ahead: Key | None = None) -> Tensor:
        """Return the rows that one step sees, (D, N). They are valid until the next call."""

    def draw(self, rng: Random, n: int) -> Tensor:
        """Draw n rows, all about equally often, with shape (D, n)."""

    def digest(self) -> str:
        """Return a checksum: targets with the same one return the same rows."""


@dataclass(frozen=True, eq=False)
class ArrayTarget:
    """Data in memory, (D, N). A step sees all of it, or one of several equal parts.

    A part is at most ``batch_size`` neighbouring rows, so rows should be in random order: see
    `mixed`. Neighbouring rows are a view of the data; other rows would have to be copied each step.

    The first ``n_pixels`` coordinates are bytes, which stand for intervals of brightness of width
    1/128. Each batch has new uniform noise of that width on them, and overwrites the last batch.
    """

    z: Tensor
    batch_size: int | None = None
    n_pixels: int = 0

    def part(self, key: Key, ahead: Key | None = None) -> Self:
        """Return this target, or a part of it drawn at random."""
        return self._part(key.rng())

    def batch(self, key: Key, ahead: Key | None = None) -> Tensor:
        """Return the rows of a part."""
        rng = key.rng()
        return self._part(rng)._spread(rng)

    def _part(self, rng: Random) -> Self:
        n = self.z.shape[1]
        parts = 1 if self.batch_size is None else math.ceil(n / self.batch_size)
        if parts == 1:
            return self
        part = rng.integer(parts)
        z = self.z[:, part * n // parts : (part + 1) * n // parts]
        return replace(self, z=z, batch_size=None)

    def at(self, level: Level) -> Self:
        """Return this target in the coordinates of a level."""
        z = level.enter(self.z)
        below = len(self.z) - self.n_pixels
        return replace(self, z=z, n_pixels=len(z) - below if self.n_pixels else 0)

    def digest(self) -> str:
        """Return a checksum of the data and of how it is cut into parts."""
        total = hashlib.sha256(repr((self.z.shape, self.batch_size, self.n_pixels)).encode())
        total.update(self.z.cpu().contiguous().numpy().data)
        return total.hexdigest()

    def draw(self, rng: Random, n: int) -> Tensor:
        """Draw n rows: each row equally often as far as n allows, and neighbours for the rest.

        The paper draws independent rows. Their noise is noise in p₀(y), which the amplifier ξ
        amplifies: a class with too many particles has to give some to its neighbours. See "Initial
        conditions" in docs/paper.md for figures. If rows are in mixed order, neighbouring rows have
        the label frequencies of all rows.
        """
        index = (rng.integer(self.z.shape[1]) + rng.permutation(n)) % self.z.shape[1]
        return self.z[:, torch.from_numpy(index).to(self.z.device)]

    def _spread(self, rng: Random) -> Tensor:
        """Return the rows, with uniform noise of ±1/256 on the pixels.

        All coordinates use one array of noise, each from another offset on. The array is short
        enough to stay in the cache. Noise for each pixel would take as long to draw as the rest of
        the step. In the orthonormal coordinates of a level, noise on pixels has the same deviation.
        """
        z, rows = self.z, self.n_pixels
        if not rows:
            return z
        columns = z.shape[1]
        offset = 64 + rng.integer(64)  # between coordinates
        numbers = (rng.uniform(columns + rows * offset) - 0.5).astype(np.float32) / 128
        noise = torch.from_numpy(numbers).to(z).as_strided((rows, columns), (offset, 1))
        torch.add(z[:rows], noise, out=self._buffer[:rows])
        return self._buffer

    @cached_property
    def _buffer(self) -> Tensor:
        """Memory for one batch, which all steps reuse; coordinates without noise are filled in.

        Allocating and freeing memory in each step would take half of the system time of a fit, and
        would leave gaps that no later stage can use.
        """
        buffer = self.z.new_empty(self.z.shape)
        buffer[self.n_pixels :] = self.z[self.n_pixels :]
        return buffer


def balanced(rng: Random, labels: np.ndarray) -> np.ndarray:
    """Return rows in which all labels are equally frequent: those of rare labels are repeated."""
    most = np.bincount(labels).max()
    classes = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    shuffled = [rows[rng.permutation(len(rows))] for rows in classes]
    return np.concatenate([np.resize(rows, most) for rows in shuffled])


def mixed(rng: Random, labels: np.ndarray) -> np.ndarray:
    """Return a random order in which neighbouring rows have the label frequencies of all rows.

    If the label frequencies of parts differed from those of the particles, a large amplifier would
    push the particles back and forth. Without labels, pass zeros.
    """
    shuffled = rng.permutation(len(labels))
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    shifts = rng.uniform(len(counts))
    places = [(np.arange(n) + s) / max(n, 1) for n, s in zip(counts, shifts, strict=True)]
    return by_label[np.argsort(np.concatenate(places), kind="stable")]
