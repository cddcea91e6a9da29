"""The queue: one thread does the work of all requests, which take turns."""

import logging
import math
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic

from sliceflow.serve._problems import ProblemError
from sliceflow.serve._services import WRONG, Service, Work

LOG = logging.getLogger("sliceflow.serve")

PATIENCE = 5
"""Maximum number of seconds to wait for work that nobody waits for any more."""

LINGER = 0.5
"""Maximum time to wait for more requests after a round, as a part of that of the round."""

MAX_RETRY = 60
"""Maximum number of seconds after which a client is asked to try again."""


@dataclass(eq=False)
class Job:
    """The work of a request, and who waits for it."""

    work: Work
    future: Future[Work] = field(default_factory=Future)
    began: float = field(default_factory=monotonic)

    def end(self, error: BaseException | None = None) -> None:
        """Tell who waits, unless they have left."""
        with suppress(InvalidStateError):
            if error is None:
                self.future.set_result(self.work)
            else:
                self.future.set_exception(error)


class Queue:
    """Requests that wait or are being answered, at most so many.

    A round of work is for the first request, and for others of its model as far as there is room.
    Those that had their turn go to the end. A round uses all cores, so several at the same time
    would only share them.
    """

    def __init__(self, most: int) -> None:
        self.most, self.took, self.accepted = most, 1.0, 0
        self._jobs: list[Job] = []
        self._changed, self._closed = Condition(), False
        self._thread = Thread(target=self._work, name="sliceflow.serve", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return sum(not job.future.done() for job in self._jobs)

    def check_open(self) -> None:
        """Refuse a request if the queue is closed."""
        if self._closed:
            raise ProblemError(503, "the server is stopping: send the request to another one")

    def check(self) -> None:
        """Refuse a request if the queue is closed or full."""
        self.check_open()
        if len(self) >= self.most:
            wait = max(1, min(MAX_RETRY, math.ceil(self.took)))
            detail = f"{self.most} requests are waiting, as many as may: try again in {wait} s"
            raise ProblemError(429, detail, {"Retry-After": str(wait)})

    def submit(self, work: Work) -> Future[Work]:
        """Add a request, and return the future of its finished work. Cancel it to drop the work."""
        with self._changed:
            self.check()
            job = Job(work)
            self._jobs.append(job)
            self.accepted += 1
            self._changed.notify()
        return job.future

    def close(self) -> None:
        """Take no more requests, and finish those that were taken."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        while jobs := self._next():
            began = monotonic()
            self._advance(jobs)
            before = len(self)
            for job in jobs:
                if job.work.is_done:
                    self.took = monotonic() - job.began
                    job.end()
            self._linger(jobs[0].work.service, before, LINGER * (monotonic() - began))

    def _next(self) -> list[Job]:
        """Return the requests of the first one's model; none if the queue is closed and empty."""
        with self._changed:
            while True:
                self._jobs = [job for job in self._jobs if not job.future.done()]
                if self._jobs or self._closed:
                    break
                self._changed.wait()
            return [job for job in self._jobs if job.work.service is self._jobs[0].work.service]

    def _linger(self, service: Service, before: int, seconds: float) -> None:
        """Wait a little until as many requests are here as ``before`` some were answered.

        Clients often ask again at once. Without them, the next round would be for a few others, and
        would take as long. If the next round is full, nobody waits.
        """

        def is_enough() -> bool:
            works = [job.work for job in self._jobs if not job.future.done()]
            own = [work for work in works if work.service is service]
            return self._closed or len(works) >= before or not service.has_room(own)

        with self._changed:
            self._changed.wait_for(is_enough, seconds)

    def _advance(self, jobs: Sequence[Job]) -> None:
        """Do a round of work. If it fails, do the work of each request alone to see whose does."""
        try:
            advanced = jobs[0].work.service.advance([job.work for job in jobs])
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].end(_told(error))
                return
            for job in jobs:
                self._advance([job])
            return
        with self._changed:  # whose turn it was is last in the next round
            last = [job for job in jobs if job.work in advanced]
            self._jobs = [job for job in self._jobs if job not in last] + last


def _told(error: Exception) -> Exception:
    """Return what a client is told of an error; log it, if it is a fault of ours."""
    if isinstance(error, WRONG):
        return ProblemError(422, " ".join(str(error).split()))
    if isinstance(error, MemoryError) or "allocate memory" in str(error):
        return ProblemError(503, "not enough memory now: ask for fewer samples, or try again later")
    LOG.error("a request failed", exc_info=error)
    return error
