"""The target of a flow: an object that gives batches of data, so that it need not fit in memory."""

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
"""Draws so many rows of all data, (D, n)."""


class Target(Protocol):
    """The data distribution q, or a shard of it, known by its rows: columns of a (D, N) matrix."""

    def part(self, key: Key, ahead: Key | None = None) -> "ArrayTarget":
        """Return as much of this target as a step may see, drawn at random.

        If it has to be read, that of the key ``ahead`` is going to be asked for next.
        """

    def batch(self, key: Key, ahead: Key | None = None) -> Tensor:
        """Return the rows that one step sees, (D, N): until the next ones are asked for."""

    def draw(self, rng: Random, n: int) -> Tensor:
        """Draw n rows, each about as often as any other, with shape (D, n)."""

    def digest(self) -> str:
        """Return a sum of all that it gives: targets with the same one are the same."""


@dataclass(frozen=True, eq=False)
class ArrayTarget:
    """Data in memory, (D, N). A step sees all of it, or one of equal parts of neighbouring rows.

    The parts have at most ``batch_size`` rows, so these should be in random order: see `mixed`.
    Neighbours are a view of the data; rows from here and there would have to be copied each step.

    The first ``n_pixels`` coordinates are bytes: levels of brightness, one 128th wide. Each batch
    has them spread evenly over that width, afresh, and takes the place of the last one.
    """

    z: Tensor
    batch_size: int | None = None
    n_pixels: int = 0

    def part(self, key: Key, ahead: Key | None = None) -> Self:
        """Return all of it, or a part drawn at random."""
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
        """Return a sum of the data and of how it is cut."""
        total = hashlib.sha256(repr((self.z.shape, self.batch_size, self.n_pixels)).encode())
        total.update(self.z.cpu().contiguous().numpy().data)
        return total.hexdigest()

    def draw(self, rng: Random, n: int) -> Tensor:
        """Draw n rows: all of them as often as n allows, then some neighbours.

        The paper draws at random. But the noise of such a draw is noise in p₀(y), and the
        amplifier ξ amplifies it: a class with too many particles has to give some to its
        neighbours. See "Initial conditions" in docs/paper.md for figures. Of rows in mixed order,
        neighbours have labels as often as the whole does.
        """
        index = (rng.integer(self.z.shape[1]) + rng.permutation(n)) % self.z.shape[1]
        return self.z[:, torch.from_numpy(index).to(self.z.device)]

    def _spread(self, rng: Random) -> Tensor:
        """Return the rows, with uniform noise of ±1/256 on the pixels.

        Each coordinate has other neighbours of one line of noise, which is short enough to stay
        in the cache: a number for each pixel would take as long to draw as the rest of the step.
        In the orthonormal coordinates of a level, noise of the pixels has the same deviation.
        """
        z, rows = self.z, self.n_pixels
        if not rows:
            return z
        columns = z.shape[1]
        apart = 64 + rng.integer(64)
        line = (rng.uniform(columns + rows * apart) - 0.5).astype(np.float32) / 128
        noise = torch.from_numpy(line).to(z).as_strided((rows, columns), (apart, 1))
        torch.add(z[:rows], noise, out=self._buffer[:rows])
        return self._buffer

    @cached_property
    def _buffer(self) -> Tensor:
        """Where batches are, one after the other, with what is alike in all of them.

        Memory of each step's own would be asked of the system, and given back, again and again:
        half of the time that a fit spends there. And holes would stay that no later stage fills.
        """
        room = self.z.new_empty(self.z.shape)
        room[self.n_pixels :] = self.z[self.n_pixels :]
        return room


def balanced(rng: Random, labels: np.ndarray) -> np.ndarray:
    """Return rows of which each label has as many as the most frequent one, some repeated."""
    most = np.bincount(labels).max()
    classes = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    shuffled = [rows[rng.permutation(len(rows))] for rows in classes]
    return np.concatenate([np.resize(rows, most) for rows in shuffled])


def mixed(rng: Random, labels: np.ndarray) -> np.ndarray:
    """Return a random order in which any neighbours have labels as often as the whole does.

    Parts whose labels are not as frequent as those of the particles would tear a flow with a
    large amplifier to and fro. Without labels, pass zeros.
    """
    shuffled = rng.permutation(len(labels))
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    shifts = rng.uniform(len(counts))
    places = [(np.arange(n) + s) / max(n, 1) for n, s in zip(counts, shifts, strict=True)]
    return by_label[np.argsort(np.concatenate(places), kind="stable")]
