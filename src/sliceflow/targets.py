"""The target of a flow: an object that gives batches of data, so that it need not fit in memory."""

import math
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from sliceflow.pyramid import Level


class Target(Protocol):
    """The data distribution q, known by its rows: columns of a (D, N) matrix."""

    @property
    def device(self) -> torch.device:
        """Where the rows are."""

    def batch(self, rng: np.random.Generator) -> Tensor:
        """Return the rows that one step sees, with shape (D, N)."""

    def draw(self, rng: np.random.Generator, n: int) -> Tensor:
        """Draw n rows, each about as often as any other, with shape (D, n)."""

    def at(self, level: Level) -> Self:
        """Return this target in the coordinates of a level."""


@dataclass(frozen=True, eq=False)
class ArrayTarget:
    """Data in memory, (D, N). A step sees all of it, or one of equal parts of neighbouring rows.

    The parts have at most ``batch_size`` rows, so these should be in random order: see `mixed`.
    Neighbours are a view of the data; rows from here and there would have to be copied each step.
    """

    z: Tensor
    batch_size: int | None = None

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.z.device

    def batch(self, rng: np.random.Generator) -> Tensor:
        """Return all rows, or a part of them drawn at random."""
        n = self.z.shape[1]
        parts = 1 if self.batch_size is None else math.ceil(n / self.batch_size)
        part = rng.integers(parts)
        return self.z[:, part * n // parts : (part + 1) * n // parts]

    def at(self, level: Level) -> Self:
        """Return this target in the coordinates of a level."""
        return type(self)(level.enter(self.z), self.batch_size)

    def draw(self, rng: np.random.Generator, n: int) -> Tensor:
        """Draw n rows: all of them as often as n allows, then some without replacement.

        The paper draws with replacement. But the noise of such a draw is noise in p₀(y), and the
        amplifier ξ amplifies it: a class with too many particles has to give some to its
        neighbours. See "Initial conditions" in docs/paper.md for figures.
        """
        often, rest = divmod(n, self.z.shape[1])
        all_rows = np.arange(self.z.shape[1])
        some_rows = rng.choice(self.z.shape[1], rest, replace=False)
        return self._pick(rng.permutation(np.concatenate([np.tile(all_rows, often), some_rows])))

    def _pick(self, index: np.ndarray) -> Tensor:
        return self.z[:, torch.from_numpy(index).to(self.z.device)]


def mixed(rng: np.random.Generator, labels: np.ndarray) -> np.ndarray:
    """Return a random order in which any neighbours have labels as often as the whole does.

    Parts whose labels are not as frequent as those of the particles would tear a flow with a
    large amplifier to and fro. Without labels, pass zeros.
    """
    shuffled = rng.permutation(len(labels))
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    place = np.concatenate([(np.arange(n) + rng.random()) / max(n, 1) for n in counts])
    return by_label[np.argsort(place, kind="stable")]
