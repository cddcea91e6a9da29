"""The limits of a server."""

from dataclasses import dataclass

MAX_CONNECTIONS = 1000
"""Maximum number of connections at a time."""

MAX_VALUES = 5_000_000
"""Maximum number of values in a JSON answer, which takes many bytes for each."""

MAX_PATTERNS = 16
"""Maximum number of different sets of columns that are missing in the rows of one request."""


@dataclass(frozen=True)
class Limits:
    """What a server does at most, and who may ask.

    Parameters
    ----------
    n
        Maximum number of samples of a request.
    body
        Maximum size of a request's body, in bytes.
    queue
        Maximum number of requests that wait or are being answered.
    seconds
        Maximum time of a request, from its arrival to its samples.
    token
        The bearer token that requests must have; None if they need none.
    """

    n: int = 10_000
    body: int = 2**24
    queue: int = 100
    seconds: float = 60.0
    token: str | None = None
