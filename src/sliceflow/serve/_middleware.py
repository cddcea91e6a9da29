"""What happens to every request before its route: it is counted, asked for the token, and read."""

import asyncio
import hmac
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sliceflow.serve._limits import Limits
from sliceflow.serve._metrics import Metrics
from sliceflow.serve._problems import ProblemError, answer_of

GUARDED = ("/v1/", "/metrics")
"""Beginnings of the paths that need the token."""


class Counted:
    """Counts requests, by the template of their path: paths themselves are without number."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.count(route, status, perf_counter() - started)


class Guarded:
    """Refuses requests without the token, and bodies that are too large or too slow."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body of a request, and pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            self._check_token(scope)
            body = await self._body(scope, receive)
        except ProblemError as problem:
            await answer_of(problem)(scope, receive, send)
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def read() -> Message:
            return messages.pop() if messages else await receive()

        if body is not None:
            await self.app(scope, read, send)

    def _check_token(self, scope: Scope) -> None:
        token = self.limits.token
        if token is None or not scope["path"].startswith(GUARDED):
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        # in constant time: else the time of an answer would tell how much of a guess is right
        if not hmac.compare_digest(given, f"Bearer {token}".encode()):
            detail = "send the server's token, as the header Authorization: Bearer ..."
            raise ProblemError(401, detail, {"WWW-Authenticate": "Bearer"})

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body, or None if the client has left."""
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        self._check_size(int(declared) if declared.isdigit() else 0)
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._read(receive)
        except TimeoutError:
            raise ProblemError(408, "the body did not arrive in time: send it again") from None

    async def _read(self, receive: Receive) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            self._check_size(len(body))
            if not message.get("more_body", False):
                return bytes(body)

    def _check_size(self, size: int) -> None:
        if size > self.limits.body:
            detail = f"the body has more than {self.limits.body:,} bytes: send less at a time"
            raise ProblemError(413, detail)
