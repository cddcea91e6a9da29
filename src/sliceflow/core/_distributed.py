"""One process or many: which shards each process has, and what processes merge.

Particles and data are cut into V shards, and each process has some of them. Matrix products are
made shard by shard, so they do not depend on the number of processes. From all shards together, a
step needs only extremes and counts, which merge to the same bits in any order. So a run gives the
same bits on any number of processes.
"""

import ctypes
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import cycle
from threading import Semaphore
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from sliceflow.core._threads import (
    in_same_mode,
    parallel,
    parallel_by_slice,
    results,
    start_workers,
)
from sliceflow.core._validation import check_seed

Item = TypeVar("Item")
Result = TypeVar("Result")

Merge = Callable[[Tensor, "dist.ReduceOp.RedOpType"], None]
"""Reduces a tensor over all processes, in place, by minimum, maximum or sum.

Only integers are summed, so each operation gives the same bits in any order.
"""

SHARDS = 64
"""Default number of shards, V, if there is more than one process."""

BLOCK_VALUES = 2**20
"""Number of projected values that a thread processes at a time: enough to be worth a call."""

TIMEOUT = float(os.environ.get("SLICEFLOW_TIMEOUT", 30))
"""Seconds until an unanswered message is an error; must be the same for all processes."""


class Group(ABC):
    """The processes of a run, as one of them sees them."""

    shards: int
    """V, the number of shards."""
    rank: int
    """The number of this process."""
    size: int
    """The number of processes."""

    @property
    @abstractmethod
    def own(self) -> range:
        """The shards of this process."""

    def cuts(self, n: int) -> list[slice]:
        """Return the slice of n items that each shard of this process has."""
        return [slice(v * n // self.shards, (v + 1) * n // self.shards) for v in self.own]

    def widths(self, n: int) -> list[int]:
        """Return the number of items that each shard of this process has, of n."""
        return [cut.stop - cut.start for cut in self.cuts(n)]

    @abstractmethod
    def block_size(self, h: int, m: int) -> int:
        """Return the number of directions in a block, of h directions with m values along each.

        Every process must call this, and all get the same number.
        """

    @abstractmethod
    def run(
        self, work: Callable[[Item, Merge | None], Result], items: Iterable[Item], in_order: bool
    ) -> list[Result]:
        """Return the results of ``work`` on items. All processes must have equally many items.

        ``work`` is passed an item and a `Merge`, or None if there are no other processes. With
        ``in_order``, each item is finished before the next one begins.
        """

    @abstractmethod
    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results of ``work`` on shards: the same bits on any number of processes."""

    @abstractmethod
    def gather(self, own: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors of all shards, whose last dimensions may differ."""

    @abstractmethod
    def all_max(self, *values: int) -> list[int]:
        """Return the element-wise maximum over processes."""


@dataclass(frozen=True)
class SingleProcess(Group):
    """One process, with all shards."""

    shards: int = 1
    rank = 0
    size = 1

    @property
    def own(self) -> range:
        """All shards."""
        return range(self.shards)

    def block_size(self, h: int, m: int) -> int:
        """Return enough directions to be worth a call, but leave a block for each thread."""
        return max(1, min(-(-h // torch.get_num_threads()), BLOCK_VALUES // m))

    def run(
        self, work: Callable[[Item, Merge | None], Result], items: Iterable[Item], in_order: bool
    ) -> list[Result]:
        """Return the results, computed in parallel unless ``in_order``.

        A single item uses all threads for its parts, as items in order do.
        """
        if in_order:  # one after the other: what an item keeps is freed before the next
            return [work(item, None) for item in items]
        listed = list(items)
        if len(listed) == 1:
            return [work(listed[0], None)]
        return parallel(lambda item: work(item, None), listed)

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results. Many shards use one thread each; a single one uses all threads."""
        return parallel_by_slice(work, items) if self.shards > 1 else [work(item) for item in items]

    def gather(self, own: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors themselves."""
        return list(own)

    def all_max(self, *values: int) -> list[int]:
        """Return the values themselves."""
        return list(values)


class Channel:
    """Messages among all processes, in one order: each process sends the same ones."""

    def __init__(self) -> None:
        self.bytes_sent = 0
        self._processes = dist.new_group(timeout=timedelta(seconds=TIMEOUT), backend="gloo")

    def send(self, values: Tensor, op: "dist.ReduceOp.RedOpType") -> dist.Work:
        """Begin to reduce values over all processes, in place."""
        self.bytes_sent += values.nbytes
        message: dist.Work = dist.all_reduce(values, op, self._processes, async_op=True)
        return message

    def merge(self, values: Tensor, op: "dist.ReduceOp.RedOpType") -> None:
        """Reduce values over all processes, in place."""
        self.send(values, op).wait()

    def gather(self, own: object) -> list[list[Tensor]]:
        """Return the tensors of each process."""
        by_process: list[list[Tensor]] = [[] for _ in range(dist.get_world_size())]
        dist.all_gather_object(by_process, own, self._processes)
        return by_process


class Lane(Channel):
    """A thread that processes blocks of directions, with its own channel.

    Every process has the same lanes and gives each lane the same blocks in the same order, so the
    messages of a lane match those of the same lane of other processes. While one lane waits for a
    message, another one works. The semaphore ``turns`` limits the lanes that work to the number of
    threads.
    """

    def __init__(self, turns: Semaphore) -> None:
        super().__init__()
        self._turns, self._thread = turns, start_workers(1)

    def submit(self, work: Callable[[Item, Merge | None], Result], item: Item) -> Future[Result]:
        """Schedule ``work`` on an item, after everything that was submitted before."""

        def do(item: Item) -> Result:
            with self._turns:
                return work(item, self.merge)

        return self._thread.submit(in_same_mode(do), item)

    def merge(self, values: Tensor, op: "dist.ReduceOp.RedOpType") -> None:
        """Reduce values over all processes, in place, while another lane may work."""
        message = self.send(values, op)
        self._turns.release()
        try:
            message.wait()
        finally:
            self._turns.acquire()


@cache
def _connected(world: object) -> tuple[Channel, list[Lane]]:
    """Return a channel, and lanes. All processes must make the first call together.

    There is one lane more than threads, so that all threads work while one lane waits. Processes
    with fewer threads have the same lanes.
    """
    channel, threads = Channel(), torch.get_num_threads()
    most_threads = torch.tensor(threads, device="cpu")
    channel.merge(most_threads, dist.ReduceOp.MAX)
    turns = Semaphore(threads)
    return channel, [Lane(turns) for _ in range(int(most_threads) + 1)]


@dataclass
class TorchDistributed(Group):
    """The processes of an initialised torch.distributed, for example those of torchrun."""

    shards: int = SHARDS

    def __post_init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._channel, self._lanes = _connected(dist.group.WORLD)

    @property
    def own(self) -> range:
        """Neighbouring shards, about equally many on each process."""
        first, last = (rank * self.shards // self.size for rank in (self.rank, self.rank + 1))
        return range(first, last)

    @property
    def bytes_sent(self) -> int:
        """Number of bytes that this process has sent to others so far."""
        return sum(channel.bytes_sent for channel in (self._channel, *self._lanes))

    def block_size(self, h: int, m: int) -> int:
        """Return the block size that fits the process with the most values."""
        (widest,) = self.all_max(m)
        return max(1, min(h, BLOCK_VALUES // widest))

    def run(
        self, work: Callable[[Item, Merge | None], Result], items: Iterable[Item], in_order: bool
    ) -> list[Result]:
        """Return the results; the lanes take items in turn, unless they have to be in order."""
        if in_order:
            return [work(item, self._channel.merge) for item in items]
        turns = zip(cycle(self._lanes), items, strict=False)
        return results(lane.submit(work, item) for lane, item in turns)

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results; each shard uses one thread."""
        return parallel_by_slice(work, items)

    def gather(self, own: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors of all shards, whose last dimensions may differ."""
        by_process = self._channel.gather([tensor.cpu() for tensor in own])
        return [tensor.to(own[0].device) for tensors in by_process for tensor in tensors]

    def all_max(self, *values: int) -> list[int]:
        """Return the element-wise maximum over processes."""
        merged = torch.tensor(values, device="cpu")
        self._channel.merge(merged, dist.ReduceOp.MAX)
        largest: list[int] = merged.tolist()
        return largest


def distributed_group(shards: int | None = None, max_shards: int = SHARDS) -> TorchDistributed:
    """Return the processes that a launcher such as torchrun started.

    By default there are 64 shards, but at most ``max_shards``.
    """
    if not dist.is_initialized():
        if not dist.is_torchelastic_launched():
            raise ValueError(
                "distributed=True shares a fit among processes, but no launcher has started any: "
                "run python -m sliceflow.launch --nproc-per-node 2 script.py, or leave it out"
            )
        end_with_parent()
        dist.init_process_group("gloo", timeout=timedelta(seconds=TIMEOUT))
    return TorchDistributed(shards or min(SHARDS, max_shards))


def is_first_process() -> bool:
    """Return whether this is the first process of a launcher, or the only process."""
    return not dist.is_torchelastic_launched() or os.environ["RANK"] == "0"


def common_seed(random_state: Any, distributed: bool) -> int:
    """Return the seed, if it is given, or else one on which all processes of a fit agree."""
    seed = check_seed(random_state)
    if distributed and random_state is None:
        (seed,) = distributed_group().all_max(seed)
    return seed


def end_with_parent() -> None:
    """End this process when torchrun ends, so that a restarted one can take over its shards."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
