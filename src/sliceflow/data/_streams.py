"""Data that does not fit in memory, as a target that reads each batch when it is needed.

A batch is made of random rows from many blocks, since neighbouring rows of a file are often alike.
Where rows can be read one by one, it has one or a few rows of each block. Where whole blocks are
read, as in Parquet files, it has more; such files should not be sorted. While a step works on its
batch, a thread reads the next one. The rows of a batch depend only on its key.
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

from sliceflow.codec._codec import Codec
from sliceflow.core._random import Key, Random
from sliceflow.flow._targets import ArrayTarget, mixed

SPREAD = 64
"""Minimum number of blocks in a batch, where whole blocks are read."""

Rows = tuple[np.ndarray, np.ndarray | None]
"""Rows of x, and of y if there is one."""


class Blocks(Protocol):
    """Rows in blocks of neighbours."""

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows in each block."""

    @property
    def by_row(self) -> bool:
        """Whether a row can be read without its neighbours."""

    def read(self, block: int, rows: np.ndarray) -> Rows:
        """Return rows of a block, by their indices in it, in ascending order."""

    def digest(self) -> str:
        """Return a checksum that identifies the data."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Data that `SlicedFlow.fit` reads when it needs it; see `sliceflow.data.stream`.

    Without ``conditional``, y is ignored.
    """

    blocks: Blocks
    conditional: bool = True

    def __len__(self) -> int:
        return int(self.blocks.sizes.sum())

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.blocks.sizes)

    def draw(self, rng: Random, n: int) -> Rows:
        """Draw n rows, or all if there are fewer."""
        every = np.arange(len(self.blocks.sizes))
        x, y = draw(self.blocks, every, rng, min(n, len(self)))
        return x, y if self.conditional else None


def draw(blocks: Blocks, own: np.ndarray, rng: Random, n: int) -> Rows:
    """Draw n rows from random blocks out of ``own``; if there are fewer, rows repeat."""
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
    """A thread that reads batches ahead, for all shards of a process."""

    waited: float = 0.0
    """Seconds that the flow has waited for rows."""
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "reader"))
    _begun: dict[object, Future[Tensor]] = field(default_factory=dict)

    def begin(self, key: object, read: Callable[[], Tensor]) -> None:
        """Start reading a batch that will be needed."""
        if key not in self._begun:
            self._begun[key] = self._thread.submit(read)

    def take(self, key: object, read: Callable[[], Tensor]) -> Tensor:
        """Return a batch; wait for it, or read it now."""
        self.begin(key, read)
        started = perf_counter()
        rows: Tensor = self._begun.pop(key).result()
        self.waited += perf_counter() - started
        return rows


@dataclass(frozen=True, eq=False)
class StreamTarget:
    """A shard of data that is read when it is needed.

    Parameters
    ----------
    blocks, own
        The data, and the indices of the blocks of this shard.
    batch_size
        Number of rows in each step.
    codec
        Makes particles from rows.
    reader
        Reads batches ahead.
    shares
        Relative frequency of each label, if there are labels.
    device
        The device of particles.
    """

    blocks: Blocks
    own: np.ndarray
    batch_size: int
    codec: Codec
    reader: Reader
    shares: np.ndarray | None = None
    device: torch.device = torch.device("cpu")  # noqa: RUF009 (it does not change)

    def part(self, key: Key, ahead: Key | None = None) -> ArrayTarget:
        """Return a batch as data in memory, and start reading the next one."""
        z = self.reader.take((id(self), key), lambda: self.draw(key.rng(), self.batch_size))
        if ahead is not None:
            self.reader.begin((id(self), ahead), lambda: self.draw(ahead.rng(), self.batch_size))
        return ArrayTarget(z, None, self.codec.n_pixels)

    def batch(self, key: Key, ahead: Key | None = None) -> Tensor:
        """Return the rows of one step, and start reading those of the next."""
        return self.part(key, ahead).batch(key)

    def draw(self, rng: Random, n: int) -> Tensor:
        """Draw n rows, with labels in proportion to their shares, if they occur among the rows."""
        z = self._encoded(*draw(self.blocks, self.own, rng, n))
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

    def _encoded(self, x: np.ndarray, y: np.ndarray | None) -> Tensor:
        """Return rows as particles. The codec knows labels from rows that were read before."""
        try:
            return self.codec.encode(x, None if self.codec.y is None else y)
        except ValueError as error:
            raise ValueError(
                f"{error}. A stream's labels are found in some of its rows, before the fit: merge "
                "rare labels, or drop their rows"
            ) from error

    def digest(self) -> str:
        """Return a checksum that identifies the data."""
        shares = None if self.shares is None else self.shares.tolist()
        content = f"{self.blocks.digest()} {self.own.tolist()} {self.batch_size} {shares}"
        return hashlib.sha256(content.encode()).hexdigest()
