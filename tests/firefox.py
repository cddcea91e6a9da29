"""Firefox, driven by WebDriver BiDi: Playwright needs a Firefox of its own."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

START_SECONDS = 60


class Firefox:
    """A tab, and the commands that it is sent."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._number = socket, 0
        self._send("session.new", capabilities={})
        self._tab = self._send("browsingContext.create", type="tab")["context"]

    def goto(self, address: str) -> None:
        """Open a page, and wait until it is loaded."""
        self._send("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript, or of its promise."""
        as_text = f"Promise.resolve({expression}).then(JSON.stringify)"
        target = {"context": self._tab}
        found = self._send("script.evaluate", expression=as_text, target=target, awaitPromise=True)
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])

    def _send(self, method: str, **params: Any) -> Any:
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        self._socket.send(json.dumps(command))
        while (answer := json.loads(self._socket.recv(timeout=60))).get("id") != self._number:
            pass  # an event
        assert answer["type"] == "success", answer
        return answer["result"]


@contextmanager
def firefox(program: str, profile: Path) -> Iterator[Firefox]:
    """Start Firefox with a new profile."""
    profile.mkdir()
    log = profile / "log.txt"
    command = [program, "--headless", "--no-remote", "--profile", profile]
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, "--remote-debugging-port", "0"], stdout=file, stderr=file
        )
    try:
        with connect(f"{_address(log)}/session", max_size=None) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        process.wait()


def _address(log: Path) -> str:
    """Wait until the log has the address to which commands are sent."""
    until = time.monotonic() + START_SECONDS
    while not (found := re.search(r"ws://\S+", log.read_text())):
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)
    return found.group()
