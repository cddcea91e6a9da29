"""A server for tests: in a thread of this process, or as a process of its own."""

import http.client
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager

import uvicorn

from sliceflow.serve._app import Api
from sliceflow.serve._limits import Limits
from sliceflow.serve._serve import config_of, listening, service_of


class Client:
    """Requests to a server on a port of this machine."""

    def __init__(self, port, token=None):
        self.port, self.token = port, token

    def __call__(self, method, path, body=None, **headers):
        """Return the status, the headers and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            if self.token:
                headers.setdefault("Authorization", f"Bearer {self.token}")
            if isinstance(body, dict):
                headers.setdefault("Content-Type", "application/json")
                body = json.dumps(body)
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def post(self, path, **body):
        """Return the JSON of an answer that has to be right."""
        status, _, content = self("POST", f"/v1/models/{path}", body)
        assert status == 200, content
        return json.loads(content)

    def file(self, path, **body):
        """Return the bytes of an answer that has to be right, and its headers."""
        status, headers, content = self("POST", f"/v1/models/{path}", body)
        assert status == 200, content
        return content, headers

    def refused(self, path, **body):
        """Return the status of an answer, and what it says is wrong."""
        status, headers, content = self("POST", f"/v1/models/{path}", body)
        assert headers["Content-Type"] == "application/problem+json"
        return status, json.loads(content)["detail"]


@contextmanager
def serving(models, **limits):
    """Serve models from a thread."""
    listener = listening("127.0.0.1", 0)
    services = {name: service_of(name, model) for name, model in models.items()}
    server = uvicorn.Server(config_of(Api(services, Limits(**limits))))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield Client(listener.getsockname()[1], limits.get("token"))
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def process(*arguments, **environment):
    """Start `sliceflow serve` as a process, and yield it and its client when it is ready."""
    command = [sys.executable, "-m", "sliceflow", "serve", *map(str, arguments), "--port", "0"]
    server = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        line = server.stdout.readline()
        assert "serving" in line, server.stderr.read()
        yield server, Client(int(line.rpartition(":")[2]), environment.get("SLICEFLOW_TOKEN"))
    finally:
        server.kill()
        server.communicate()
