"""The page at /, and a page for each model of images, which samples it in the browser.

No path of a request reaches the file system: it names one of a few files in memory.
"""

import asyncio
import mimetypes
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sliceflow.model import Model
from sliceflow.serve._problems import ProblemError, answer_of
from sliceflow.web import export_page

INDEX = "index.html"
SAFE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}


def page_routes(models: Mapping[str, Model]) -> list[Route]:
    """Return the routes of the page at / and of the pages of these models."""
    template = (files("sliceflow.serve") / "static" / INDEX).read_text("utf-8")
    index = Environment(autoescape=True).from_string(template).render(names=list(models))
    lock = Lock()

    @cache
    def page_of(name: str) -> dict[str, bytes]:
        with TemporaryDirectory() as folder:
            export_page(models[name], Path(folder), name)
            return {file.name: file.read_bytes() for file in Path(folder).iterdir()}

    def file_of(name: str, file: str) -> bytes | None:
        with lock:  # two visitors need not make the same page twice
            return page_of(name).get(file or INDEX) if name in models else None

    async def start(_: Request) -> Response:
        return _response(INDEX, index.encode())

    async def page(request: Request) -> Response:
        name, file = request.path_params["name"], request.path_params["file"]
        content = await asyncio.to_thread(file_of, name, file)
        if content is None:
            return answer_of(ProblemError(404, "there is no such page: see / for what there is"))
        return _response(file or INDEX, content)

    return [Route("/", start), Route("/pages/{name}/{file:path}", page)]


def _response(name: str, content: bytes) -> Response:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Response(content, media_type=kind, headers=SAFE)
