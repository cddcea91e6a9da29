"""Runs the server until it is told to stop: then it finishes what it has accepted."""

import signal
import socket
from collections.abc import Mapping

import uvicorn

from sliceflow.core._terminal import plural, print_safely
from sliceflow.model import Model
from sliceflow.serve._app import Api, make_app
from sliceflow.serve._flows import FlowService
from sliceflow.serve._limits import MAX_CONNECTIONS, Limits
from sliceflow.serve._services import Service
from sliceflow.serve._tables import TableService
from sliceflow.table_model import TableModel

BACKLOG = 2048
"""Maximum number of connections that wait to be accepted."""


def serve(models: Mapping[str, Model | TableModel], host: str, port: int, limits: Limits) -> None:
    """Answer requests for samples of these models, by name, until SIGTERM or Ctrl-C."""
    services = {name: service_of(name, model) for name, model in models.items()}
    with listening(host, port) as listener:
        for service in services.values():
            service.warm_up()
        api = Api(services, limits)
        server = uvicorn.Server(config_of(api))
        # uvicorn stops at SIGTERM, and then sends it again: that one must not end the process
        signal.signal(signal.SIGTERM, lambda *_: None)
        at = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        print_safely(f"serving {', '.join(services)} on http://{shown}:{at}")
        print(end="", flush=True)
        server.run(sockets=[listener])
    print_safely(f"stopped after {plural(api.queue.accepted, 'request')} for samples")


def service_of(name: str, model: Model | TableModel) -> Service:
    """Return a model as a service."""
    return TableService(name, model) if isinstance(model, TableModel) else FlowService(name, model)


def config_of(api: Api) -> uvicorn.Config:
    """Return the configuration of uvicorn."""
    return uvicorn.Config(
        make_app(api),
        access_log=False,
        backlog=BACKLOG,
        lifespan="on",
        limit_concurrency=MAX_CONNECTIONS,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(api.limits.seconds) + 5,
        ws="none",
    )


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; connections wait until they are accepted."""
    try:
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ValueError(
            f"cannot listen on {host}, port {port} ({error}): pass another host or port"
        ) from error
