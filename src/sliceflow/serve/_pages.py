"""Files of the page at /. They are read once: no path of a request reaches the file system."""

import mimetypes
from importlib.resources import files

from starlette.responses import Response
from starlette.routing import Route

INDEX = "index.html"
SAFE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}


def page_routes() -> list[Route]:
    """Return a route for each file in the folder `static`; the index is at /."""
    folder = files("sliceflow.serve") / "static"
    names = sorted(file.name for file in folder.iterdir() if file.is_file())
    return [_route(name, (folder / name).read_bytes()) for name in names]


def _route(name: str, content: bytes) -> Route:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"

    async def page(_: object) -> Response:
        return Response(content, media_type=kind, headers=SAFE)

    return Route("/" if name == INDEX else f"/{name}", page)
