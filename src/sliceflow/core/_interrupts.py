"""Ctrl-C: it ends the process at once, except while there is something to clean up."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from sliceflow.core._exits import INTERRUPTED


def end_when_interrupted() -> None:
    """Let Ctrl-C end the process without a traceback, unless it is ignored, as with nohup."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def cleaning_up() -> Iterator[None]:
    """In this context, Ctrl-C raises KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is not _end:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end)


def _end(*_: object) -> None:
    os._exit(INTERRUPTED)
