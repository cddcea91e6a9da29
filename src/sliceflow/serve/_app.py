"""The routes of the server."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from sliceflow.core._reading import did_you_mean
from sliceflow.core._validation import check_seed
from sliceflow.model import Model
from sliceflow.serve._answers import MEDIA_TYPES, Told, encode
from sliceflow.serve._flows import FlowService
from sliceflow.serve._limits import Limits
from sliceflow.serve._metrics import MEDIA_TYPE, Metrics
from sliceflow.serve._middleware import Counted, Guarded
from sliceflow.serve._pages import page_routes
from sliceflow.serve._problems import (
    CLIENT_LEFT,
    JSON,
    ProblemBody,
    ProblemError,
    answer_of,
    wrong_fields,
)
from sliceflow.serve._queue import Queue
from sliceflow.serve._requests import Asked, ImputeRequest, InpaintRequest, SamplesRequest
from sliceflow.serve._services import Service, Work
from sliceflow.web import can_be_sampled

ERRORS = {
    400: "The body is not JSON",
    401: "The token is missing or wrong",
    404: "There is no such model",
    408: "The body did not arrive in time",
    413: "The body is too large",
    422: "The request is wrong, or not for this model",
    429: "As many requests wait as may: try again after Retry-After seconds",
    503: "The server is stopping, or has not enough memory now",
    504: "The samples took longer than the time limit",
}
"""Errors that requests for samples may have."""


class Api:
    """The routes, and what they share."""

    def __init__(self, services: Mapping[str, Service], limits: Limits) -> None:
        self.services, self.limits = services, limits
        self.queue = Queue(limits.queue)
        self.metrics = Metrics(lambda: len(self.queue))

    async def health(self) -> Response:
        """Say whether the server takes requests."""
        self.queue.check_open()
        return JSON({"status": "ok"})

    async def figures(self) -> Response:
        """Return figures for Prometheus."""
        return Response(self.metrics.page(), media_type=MEDIA_TYPE)

    async def models(self) -> Response:
        """Describe all models, and the limits of the server."""
        limits = self.limits
        return JSON(
            {
                "models": [service.about() for service in self.services.values()],
                "limits": {"n": limits.n, "body_bytes": limits.body, "seconds": limits.seconds},
            }
        )

    async def model(self, name: str) -> Response:
        """Describe a model."""
        return JSON(self._service(name).about())

    async def samples(self, name: str, body: SamplesRequest, request: Request) -> Response:
        """Draw new samples."""
        self._check_n(body.n)
        return await self._answer(request, body, self._service(name).samples)

    async def inpaint(self, name: str, body: InpaintRequest, request: Request) -> Response:
        """Fill in the missing part of images."""
        self._check_n(len(body.images) * body.n)
        return await self._answer(request, body, self._service(name).inpaint)

    async def impute(self, name: str, body: ImputeRequest, request: Request) -> Response:
        """Fill the gaps of rows, given what is there."""
        self._check_n(len(body.rows) * body.n)
        return await self._answer(request, body, self._service(name).impute)

    def _service(self, name: str) -> Service:
        if name not in self.services:
            hint = did_you_mean(name, self.services) or f": choose from {', '.join(self.services)}"
            raise ProblemError(404, f"there is no model of this name{hint}")
        return self.services[name]

    def _check_n(self, n: int) -> None:
        if n > self.limits.n:
            most = self.limits.n
            raise ProblemError(422, f"{n} samples are more than {most}: ask in several requests")

    async def _answer(
        self, request: Request, body: Asked, begin: Callable[[Any, int], Work]
    ) -> Response:
        """Return the answer to a request for samples."""
        self.queue.check()  # before there is any work
        seed = check_seed(body.seed)
        work = await asyncio.to_thread(begin, body, seed)
        future = asyncio.wrap_future(self.queue.submit(work))
        await self._wait(future, request)
        told = Told(work.service.name, seed, work.n, work.warnings)
        content = await asyncio.to_thread(lambda: encode(work.answer(), told, body.format))
        self.metrics.count_samples(told.model, told.n)
        return Response(content, media_type=MEDIA_TYPES[body.format], headers=told.headers())

    async def _wait(self, future: "asyncio.Future[Work]", request: Request) -> None:
        """Wait for samples; if they take too long, or the client leaves, drop the work."""
        gone = asyncio.ensure_future(_left(request))
        try:
            waiting: set[asyncio.Future[Any]] = {future, gone}
            await asyncio.wait(
                waiting, timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if future.done():
                future.result()  # raises its error
            elif gone.done():
                raise ProblemError(CLIENT_LEFT, "the client has left")
            else:
                seconds = self.limits.seconds
                raise ProblemError(
                    504, f"this took more than {seconds:g} s: ask for less, or later"
                )
        finally:
            gone.cancel()
            future.cancel()


async def _left(request: Request) -> None:
    """Wait until the client leaves."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def make_app(api: Api) -> ASGIApp:
    """Return the server as an ASGI application."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        api.queue.close()

    # the usual pages of documentation would load scripts from elsewhere
    app = FastAPI(
        title="sliceflow",
        version=version("sliceflow"),
        summary="Samples of saved models.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        routes=list(page_routes(_pictured(api))),
    )
    _add_routes(app, api)
    _add_errors(app)
    app.add_middleware(Guarded, limits=api.limits)
    app.add_middleware(Counted, metrics=api.metrics)
    return app


def _pictured(api: Api) -> dict[str, Model]:
    """Return the models that a page can sample; none if a token is needed: no page sends it."""
    if api.limits.token is not None:
        return {}
    flows = {name: s.model for name, s in api.services.items() if isinstance(s, FlowService)}
    return {name: model for name, model in flows.items() if can_be_sampled(model)}


def _add_routes(app: FastAPI, api: Api) -> None:
    app.get("/healthz")(api.health)
    app.get("/metrics", response_class=Response)(api.figures)
    one = "/v1/models/{name}"
    errors: dict[int | str, dict[str, Any]] = {
        status: {"description": about, "model": ProblemBody} for status, about in ERRORS.items()
    }
    guarded = partial(app.add_api_route, dependencies=_token(api.limits), response_class=Response)
    unknown: dict[int | str, dict[str, Any]] = {status: errors[status] for status in (401, 404)}
    guarded("/v1/models", api.models, responses={401: errors[401]})
    guarded(one, api.model, responses=unknown)
    found: dict[int | str, dict[str, Any]] = {
        200: {"content": {kind: {} for kind in MEDIA_TYPES.values()}}
    }
    for route in (api.samples, api.inpaint, api.impute):
        path = f"{one}/{route.__name__}"
        guarded(path, route, methods=["POST"], responses=found | errors)


def _token(limits: Limits) -> list[Any]:
    """Return the token as OpenAPI describes it; `Guarded` checks it."""
    return [] if limits.token is None else [Depends(HTTPBearer(auto_error=False))]


def _add_errors(app: FastAPI) -> None:
    """Let all errors be problems."""

    async def problem(_: Request, error: ProblemError) -> Response:
        return answer_of(error)

    async def wrong(_: Request, error: RequestValidationError) -> Response:
        return answer_of(wrong_fields(error))

    async def other(_: Request, error: HTTPException) -> Response:
        detail = f"{error.detail}: see /openapi.json for what there is"
        return answer_of(ProblemError(error.status_code, detail, error.headers))

    async def fault(_: Request, error: Exception) -> Response:
        return answer_of(ProblemError(500, "a fault of the server, which its log describes"))

    handlers: dict[type[Exception], Any] = {
        ProblemError: problem,
        RequestValidationError: wrong,
        HTTPException: other,
        Exception: fault,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
