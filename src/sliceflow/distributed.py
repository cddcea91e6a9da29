"""One process or many: who has which shards, and what they have to add up.

Particles and data are cut into V shards, and each process has some of them: always the same matrix
products, whoever does them. What a step needs to know of all particles and all data are extremes
and counts, which merge to the same bits in any order. So a run gives the same bits on any number of
processes. A single one is the case of one.
"""

import ctypes
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from sliceflow._threads import parallel, shared_out

Item = TypeVar("Item")
Result = TypeVar("Result")


class How(Enum):
    """How values of many processes become one. Each gives the same bits in any order."""

    MIN = dist.ReduceOp.MIN
    MAX = dist.ReduceOp.MAX
    SUM = dist.ReduceOp.SUM  # of integers


Merge = tuple[Tensor, How]
"""A tensor that is to be merged, in place, with those of the other processes, and how."""

Work = Generator[Merge, None, Result]
"""Work that stops wherever it needs something merged."""

SHARDS = 64
"""V, if there is more than one process."""

VALUES = 2**20
"""Values along directions that a thread works on at a time: enough to be worth a call."""

TIMEOUT = float(os.environ.get("SLICEFLOW_TIMEOUT", 30))
"""Seconds after which a message that was not answered is an error; alike for all processes."""

AHEAD = 2
"""Blocks of directions that are worked on while messages are on their way."""


class Group(ABC):
    """The processes of a run, as one of them sees them."""

    shards: int
    """V."""
    rank: int
    """Which of them this one is."""
    size: int
    """How many there are."""

    @property
    @abstractmethod
    def own(self) -> range:
        """The shards of this process."""

    def cuts(self, n: int) -> list[slice]:
        """Return which of n things each shard of this process has."""
        return [slice(v * n // self.shards, (v + 1) * n // self.shards) for v in self.own]

    def widths(self, n: int) -> list[int]:
        """Return how many of n things each shard of this process has."""
        return [cut.stop - cut.start for cut in self.cuts(n)]

    @abstractmethod
    def at_once(self, h: int, m: int) -> int:
        """Return how many of h directions make a block, with m values along each; alike for all."""

    @abstractmethod
    def run(self, works: Iterable[Work[Result]], in_order: bool) -> list[Result]:
        """Return the results of works, of which every process has as many.

        In order, each ends before the next one does.
        """

    @abstractmethod
    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results of work on each of these, with the same bits whoever has them."""

    @abstractmethod
    def gather(self, own: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors of all shards, each with a last dimension of its own."""

    @abstractmethod
    def most(self, *values: int) -> list[int]:
        """Return the largest of each of these values that a process has."""


@dataclass(frozen=True)
class Alone(Group):
    """One process, with all shards."""

    shards: int = 1
    rank = 0
    size = 1

    @property
    def own(self) -> range:
        """All of them."""
        return range(self.shards)

    def at_once(self, h: int, m: int) -> int:
        """Return as many as are worth a call, and leave some for each thread."""
        return max(1, min(-(-h // torch.get_num_threads()), VALUES // m))

    def run(self, works: Iterable[Work[Result]], in_order: bool) -> list[Result]:
        """Return the results of works that are done in parallel, if they may be."""
        return [finished(work) for work in works] if in_order else parallel(finished, works)

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results, of many items by one thread each, of one by all threads."""
        return shared_out(work, items) if self.shards > 1 else [work(item) for item in items]

    def gather(self, own: Sequence[Tensor]) -> list[Tensor]:
        """Return them."""
        return list(own)

    def most(self, *values: int) -> list[int]:
        """Return them."""
        return list(values)


def finished(work: Work[Result]) -> Result:
    """Do work of a process that has nobody to merge with."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


@dataclass
class Ranks(Group):
    """Processes that torchrun started; `dist` has been initialised.

    Messages of one block of directions are on their way while the next one is worked on. All
    processes send in the same order, which depends on nothing but the number of blocks.
    """

    shards: int = SHARDS
    sent: int = 0
    """Bytes that were merged so far."""

    def __post_init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    @property
    def own(self) -> range:
        """Neighbours, about as many as any other process has."""
        first, last = (rank * self.shards // self.size for rank in (self.rank, self.rank + 1))
        return range(first, last)

    def at_once(self, h: int, m: int) -> int:
        """Return as many as the process with the most values has room for."""
        (most,) = self.most(m)
        return max(1, min(h, VALUES // most))

    def run(self, works: Iterable[Work[Result]], in_order: bool) -> list[Result]:
        """Return the results of works, one of which goes on while others wait for messages."""
        results: list[Result] = []
        waiting: deque[tuple[Work[Result], dist.Work | None]] = deque()
        for work in works:
            if len(waiting) == AHEAD:
                self._finish_one(waiting, results)
            waiting.append((work, None))
        while waiting:
            self._finish_one(waiting, results)
        return results

    def _finish_one(
        self, waiting: deque[tuple[Work[Result], dist.Work | None]], results: list[Result]
    ) -> None:
        """Go on with the works in turn until one has ended: the one that began first."""
        while True:
            work, message = waiting.popleft()
            if message is not None:
                message.wait()
            try:
                waiting.append((work, self._merge(*next(work))))
            except StopIteration as end:
                results.append(end.value)
                return

    def _merge(self, values: Tensor, how: How) -> dist.Work:
        """Begin to merge values with those of the others, in place."""
        self.sent += values.nbytes
        message: dist.Work = dist.all_reduce(values, how.value, async_op=True)
        return message

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results, each by one thread."""
        return shared_out(work, items)

    def gather(self, own: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors of all shards, each with a last dimension of its own."""
        everyones: list[list[Tensor]] = [[] for _ in range(self.size)]
        dist.all_gather_object(everyones, list(own))
        return [tensor for theirs in everyones for tensor in theirs]

    def most(self, *values: int) -> list[int]:
        """Return the largest of each of these values that a process has."""
        merged = torch.tensor(values)
        self._merge(merged, How.MAX).wait()
        largest: list[int] = merged.tolist()
        return largest


def group(shards: int | None = None, most: int = SHARDS) -> Group:
    """Return the processes that torchrun started, or this one alone.

    If their number is not given, many processes have 64 shards, but no more than ``most``.
    """
    if not dist.is_torchelastic_launched():
        return Alone(shards or 1)
    if not dist.is_initialized():
        end_with_parent()
        dist.init_process_group("gloo", timeout=timedelta(seconds=TIMEOUT))
    return Ranks(shards or min(SHARDS, most))


def end_with_parent() -> None:
    """Be killed when torchrun is: its next one starts another process for the same shards."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
