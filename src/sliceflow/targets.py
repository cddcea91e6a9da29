"""The target of a flow: an object that gives batches of data, so that it need not fit in memory."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor


class Target(Protocol):
    """The data distribution q, known by its rows: columns of a (D, N) matrix."""

    @property
    def device(self) -> torch.device:
        """Where the rows are."""

    def batch(self, rng: np.random.Generator) -> Tensor:
        """Return the rows that one step sees, with shape (D, N)."""

    def draw(self, rng: np.random.Generator, n: int) -> Tensor:
        """Draw n rows, each about as often as any other, with shape (D, n)."""


@dataclass(frozen=True, eq=False)
class ArrayTarget:
    """Data in memory, (D, N). A step sees all of it, or ``batch_size`` rows drawn afresh."""

    z: Tensor
    batch_size: int | None = None

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.z.device

    def batch(self, rng: np.random.Generator) -> Tensor:
        """Return all rows, or ``batch_size`` of them without replacement."""
        n = self.z.shape[1]
        if self.batch_size is None or self.batch_size >= n:
            return self.z
        return self._pick(rng.choice(n, self.batch_size, replace=False))

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
