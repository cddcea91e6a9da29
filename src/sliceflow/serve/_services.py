"""What a loaded model does for the server: it describes itself, and turns requests into work."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Protocol
from warnings import catch_warnings, simplefilter

from sliceflow.serve._answers import Answer
from sliceflow.serve._problems import ProblemError
from sliceflow.serve._requests import ImputeRequest, InpaintRequest, SamplesRequest

WRONG = (ValueError, TypeError, OverflowError, FloatingPointError)
"""Errors of the library about what it was given."""

_warnings = Lock()
"""Python's list of warnings is one for all threads."""


class Work(Protocol):
    """What one request needs of a model."""

    @property
    def service(self) -> "Service":
        """The model that does the work."""

    @property
    def n(self) -> int:
        """The number of samples."""

    @property
    def warnings(self) -> list[str]:
        """What the client should know."""

    @property
    def is_done(self) -> bool:
        """Whether all samples are drawn."""

    def answer(self) -> Answer:
        """Return the samples, when they are all drawn."""


class Service(Protocol):
    """A model that is served."""

    @property
    def name(self) -> str:
        """The name in the path of a request."""

    def about(self) -> dict[str, Any]:
        """Describe the model: its kind, its shape, its formats, and what it can be given."""

    def samples(self, body: SamplesRequest, seed: int) -> Work:
        """Return the work of drawing samples. What cannot be done is a `ProblemError`."""

    def inpaint(self, body: InpaintRequest, seed: int) -> Work:
        """Return the work of filling in images."""

    def impute(self, body: ImputeRequest, seed: int) -> Work:
        """Return the work of filling gaps of rows."""

    def has_room(self, works: Sequence[Any]) -> bool:
        """Return whether a round of work would take as long if there were more of it."""

    def advance(self, works: Sequence[Any]) -> Collection[Any]:
        """Do a round of work of these requests, and return those that had a part in it."""

    def warm_up(self) -> None:
        """Draw a sample, so that the first request need not wait for compilation."""


@contextmanager
def as_problems() -> Iterator[None]:
    """Turn errors about what a model was given into answers."""
    try:
        yield
    except WRONG as error:
        raise ProblemError(422, " ".join(str(error).split())) from error


def with_warnings(check: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return the result of a check, and the warnings that the client should know."""
    with _warnings, catch_warnings(record=True) as caught, as_problems():
        simplefilter("always")
        result = check()
    return result, [str(warning.message) for warning in caught]


def check_format(name: str, format: str, formats: Sequence[str]) -> None:
    """Refuse a format that a model's samples cannot have."""
    if format not in formats:
        fix = ", ".join(formats)
        if format == "arrow":
            fix += '; for arrow, pip install "sliceflow[streams]" on the server'
        raise ProblemError(422, f"format={format} is not for {name}: use one of {fix}")
