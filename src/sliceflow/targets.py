"""The target of a flow: an object that gives batches of data, so that it need not fit in memory."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor


class Target(Protocol):
    """The data distribution q, known by its rows: columns of a (D, N) matrix."""

    def batch(self, rng: np.random.Generator) -> Tensor:
        """Return the rows that one step sees, with shape (D, N)."""

    def rows(self, rng: np.random.Generator, n: int) -> Tensor:
        """Draw n rows with replacement, with shape (D, n)."""


@dataclass(frozen=True)
class ArrayTarget:
    """Data in memory, (D, N). A step sees all of it, or ``batch_size`` rows drawn afresh."""

    z: Tensor
    batch_size: int | None = None

    def batch(self, rng: np.random.Generator) -> Tensor:
        """Return all rows, or ``batch_size`` of them without replacement."""
        n = self.z.shape[1]
        if self.batch_size is None or self.batch_size >= n:
            return self.z
        return self._pick(rng.choice(n, self.batch_size, replace=False))

    def rows(self, rng: np.random.Generator, n: int) -> Tensor:
        """Draw n rows with replacement."""
        return self._pick(rng.integers(self.z.shape[1], size=n))

    def _pick(self, index: np.ndarray) -> Tensor:
        return self.z[:, torch.from_numpy(index).to(self.z.device)]
