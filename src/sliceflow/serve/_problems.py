"""Errors as answers: JSON after RFC 9457, whose detail names the fix."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.responses import Response

CLIENT_LEFT = 499
"""Status of a request whose client did not wait: nobody reads it, but metrics show it."""

KIND = re.compile(r"bool$|float$|constrained-|list\[|dict\[|Range$|AnyOf$|nullable\[|function-")
"""What pydantic calls the kinds of value that a field may have, among the names of fields."""

MAX_SHOWN = 3
"""Maximum number of wrong fields that an answer lists."""


class ProblemError(Exception):
    """An error that the client is told."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


class ProblemBody(BaseModel):
    """The body of an error."""

    title: str
    status: int
    detail: str


class JSON(Response):
    """An answer in JSON, in ASCII: text of a request may hold what UTF-8 cannot."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as JSON."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def answer_of(problem: ProblemError) -> Response:
    """Return the answer that tells the client."""
    status = problem.status
    title = HTTPStatus(status).phrase if status != CLIENT_LEFT else "Client Closed Request"
    body = {"title": title, "status": status, "detail": problem.detail}
    headers = dict(problem.headers or {})
    return JSON(body, status, headers, media_type="application/problem+json")


def wrong_fields(error: RequestValidationError) -> ProblemError:
    """Return the problem of a body that is not as the API says."""
    errors = sorted(error.errors(), key=lambda one: -len(one["loc"]))  # the most specific first
    found = dict.fromkeys(f"{_place(one['loc'])}: {one['msg']}" for one in errors)
    detail = f"{'; '.join([*found][:MAX_SHOWN])}. See /openapi.json for what a request may have"
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail)


def _place(loc: tuple[int | str, ...]) -> str:
    """Return where in a request something is wrong, such as given.age."""
    parts = [str(part)[:50] for part in loc if part != "body"]
    return ".".join(part for part in parts if not KIND.match(part)) or "the body"
