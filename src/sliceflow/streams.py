"""Data that does not fit in memory, as a target: each batch is read when it is needed, or before.

A batch is rows of many blocks, drawn at random, since neighbours in a file are often alike: one or
a few rows of each block where rows can be read one by one, and more where a block is read as a
whole, as in Parquet files; such files should not be sorted. While a step works on its batch, a
thread reads that of the next one. What a batch holds depends on its key alone.
"""

import hashlib
import math
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from sliceflow._random import Key, Random
from sliceflow.codec import Codec
from sliceflow.targets import ArrayTarget, mixed

SPREAD = 64
"""Blocks that a batch is made of, at least, if there are as many and they are read as a whole."""

Rows = tuple[np.ndarray, np.ndarray | None]
"""Rows of x, and of y if there is one."""


class Blocks(Protocol):
    """Rows in blocks of neighbours."""

    @property
    def sizes(self) -> np.ndarray:
        """How many rows each block has."""

    @property
    def by_row(self) -> bool:
        """Whether a row can be read without its neighbours."""

    def read(self, block: int, rows: np.ndarray) -> Rows:
        """Return rows of a block, by their numbers in it, which ascend."""

    def digest(self) -> str:
        """Return a sum of what tells these data from others."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Data that `SlicedFlow.fit` reads as it needs it; see `sliceflow.data.stream`.

    Its y is left aside if it is not ``conditional``.
    """

    blocks: Blocks
    conditional: bool = True

    def __len__(self) -> int:
        return int(self.blocks.sizes.sum())

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self.blocks.sizes)

    def draw(self, rng: Random, n: int) -> Rows:
        """Draw n rows, or all if there are fewer."""
        every = np.arange(len(self.blocks.sizes))
        x, y = draw(self.blocks, every, rng, min(n, len(self)))
        return x, y if self.conditional else None


def draw(blocks: Blocks, own: np.ndarray, rng: Random, n: int) -> Rows:
    """Draw n rows from some of the blocks that are ours; if there are fewer, some again."""
    k = n if blocks.by_row else max(SPREAD, math.ceil(n / blocks.sizes[own].mean()))
    k = min(k, len(own))
    chosen = own[np.sort(rng.subset(len(own), k))]
    sizes = blocks.sizes[chosen]
    wanted = np.minimum(sizes, np.ceil(n * sizes / sizes.sum()).astype(int))
    parts = [
        blocks.read(block, np.sort(rng.subset(size, m)))
        for block, size, m in zip(chosen, sizes, wanted, strict=True)
    ]
    x = np.concatenate([x for x, _ in parts])
    y = None if parts[0][1] is None else np.concatenate([y for _, y in parts if y is not None])
    order = np.resize(rng.permutation(len(x)), n)
    return x[order], None if y is None else y[order]


@dataclass
class Reader:
    """A thread that reads ahead, for all shards of a process."""

    waited: float = 0.0
    """Seconds that a flow had to wait for rows."""
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "reader"))
    _begun: dict[object, Future[Tensor]] = field(default_factory=dict)

    def begin(self, key: object, read: Callable[[], Tensor]) -> None:
        """Begin to read what will be asked for."""
        if key not in self._begun:
            self._begun[key] = self._thread.submit(read)

    def take(self, key: object, read: Callable[[], Tensor]) -> Tensor:
        """Return what was read, or is now."""
        self.begin(key, read)
        started = perf_counter()
        rows: Tensor = self._begun.pop(key).result()
        self.waited += perf_counter() - started
        return rows


@dataclass(frozen=True, eq=False)
class StreamTarget:
    """A shard of data that is read as it is needed.

    Parameters
    ----------
    blocks, own
        The data, and the numbers of the blocks that this shard has.
    batch_size
        How many rows a step sees.
    codec
        Makes particles of rows.
    reader
        Reads ahead.
    shares
        How often each label occurs, if there are labels.
    device
        Where particles are.
    """

    blocks: Blocks
    own: np.ndarray
    batch_size: int
    codec: Codec
    reader: Reader
    shares: np.ndarray | None = None
    device: torch.device = torch.device("cpu")  # noqa: RUF009 (it does not change)

    def part(self, key: Key, ahead: Key | None = None) -> ArrayTarget:
        """Return a batch, as data that stays in memory; begin to read the one that comes next."""
        z = self.reader.take((id(self), key), lambda: self.draw(key.rng(), self.batch_size))
        if ahead is not None:
            self.reader.begin((id(self), ahead), lambda: self.draw(ahead.rng(), self.batch_size))
        return ArrayTarget(z, None, self.codec.n_pixels)

    def batch(self, key: Key, ahead: Key | None = None) -> Tensor:
        """Return the rows that one step sees; begin to read those of the next."""
        return self.part(key, ahead).batch(key)

    def draw(self, rng: Random, n: int) -> Tensor:
        """Draw n rows; each label as often as its share says, as far as it occurs among them."""
        z = self.codec.encode(*draw(self.blocks, self.own, rng, n))
        if self.shares is None:
            return z.to(self.device)
        labels = self.codec.condition.groups(z).numpy()
        found = np.unique(labels)
        upto = np.cumsum(self.shares[found]) / self.shares[found].sum()
        counts = np.diff((n * upto).round().astype(int), prepend=0)
        rows = [
            np.resize(np.flatnonzero(labels == label), count)
            for label, count in zip(found, counts, strict=True)
        ]
        chosen = np.concatenate(rows)
        return z[:, torch.from_numpy(chosen[mixed(rng, labels[chosen])])].to(self.device)

    def digest(self) -> str:
        """Return a sum of what tells these data from others."""
        told = f"{self.blocks.digest()} {self.own.tolist()} {self.batch_size}"
        return hashlib.sha256(told.encode()).hexdigest()
