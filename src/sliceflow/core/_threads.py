"""Independent work on PyTorch's number of threads; within each, PyTorch uses one thread.

A PyTorch operation on one thread gives the same bits, however many other threads are working. And
threads with separate work need not wait for one another after every operation.
"""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

_thread = threading.local()


def parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the results of ``work`` on all items. Inside a worker thread, do them one by one."""
    if getattr(_thread, "is_worker", False):
        return [work(item) for item in items]
    workers, work = _workers(torch.get_num_threads()), in_same_mode(work)
    return results(workers.submit(work, item) for item in items)


def in_same_mode(work: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """Return the work for another thread, in the inference mode of this one: it is per thread."""
    inference = torch.is_inference_mode_enabled()

    def work_in_mode(item: Item) -> Result:
        with torch.inference_mode(inference):
            return work(item)

    return work_in_mode


def results(submitted: Iterable[Future[Result]]) -> list[Result]:
    """Return the results of work, submitted one by one; if some fails, cancel the rest."""
    futures: list[Future[Result]] = []
    try:
        for future in submitted:
            futures.append(future)
        wait(futures, return_when=FIRST_EXCEPTION)
    finally:  # also if we are interrupted
        for future in futures:
            future.cancel()
    wait(futures)  # even if one failed: others may still be writing
    for future in futures:
        if not future.cancelled() and (error := future.exception()) is not None:
            raise error
    return [future.result() for future in futures]


def thread_slices(n: int) -> list[slice]:
    """Cut ``range(n)`` into one slice for each thread; inside a worker thread, into one."""
    parts = 1 if getattr(_thread, "is_worker", False) else min(n, torch.get_num_threads())
    return [slice(i * n // parts, (i + 1) * n // parts) for i in range(parts)]


def parallel_by_slice(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results of short ``work`` on many items: each thread gets one slice of them."""
    parts = parallel(lambda share: [work(item) for item in items[share]], thread_slices(len(items)))
    return [result for part in parts for result in part]


def single_threaded(work: Callable[[], Result]) -> Result:
    """Return the result of ``work`` on one thread: the same bits for any number of threads."""
    return parallel(lambda _: work(), [None])[0]


@cache
def _workers(n: int) -> ThreadPoolExecutor:
    """Return n threads that wait for work."""
    return start_workers(n)


def start_workers(n: int) -> ThreadPoolExecutor:
    """Start n threads, without changing PyTorch's number of threads in the calling one."""
    before = torch.get_num_threads()
    started = threading.Barrier(n + 1)
    workers = ThreadPoolExecutor(n, "sliceflow", initializer=_keep_to_one_thread)
    for _ in range(n):
        workers.submit(started.wait)
    started.wait()
    torch.set_num_threads(before)
    return workers


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_workers.cache_clear)  # threads do not survive a fork


def _keep_to_one_thread() -> None:
    _thread.is_worker = True
    torch.get_num_threads()  # else PyTorch would set up this thread later, and undo the next line
    torch.set_num_threads(1)
