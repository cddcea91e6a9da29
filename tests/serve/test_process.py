"""Real servers, as processes: how they begin, what they survive, and how they end."""

import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from serving import process

from sliceflow.cli import main

MODELS = Path(__file__).parents[1] / "models"
FLOW, TABLE = MODELS / "version-3.zip", MODELS / "version-4-table.zip"
PATH = "/v1/models/version-3/samples"


@pytest.fixture(scope="module")
def server():
    with process(FLOW, TABLE, "--seconds", "20") as (server, client):
        yield server, client


def test_the_same_samples_as_the_command_line(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, client = server
    main(["sample", str(FLOW), "--n", "9", "--random-state", "3", "--out", "a.png"])
    content, _ = client.file("version-3/samples", n=9, seed=3, format="png")
    assert content == (tmp_path / "a.png").read_bytes()


def test_clients_that_are_killed(server):
    """In the middle of a request, or of its answer."""
    process, client = server
    body = json.dumps({"n": 2000}).encode()
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    request = f"POST {PATH} HTTP/1.1\r\nHost: a\r\n{kind}".encode() + body
    rng = random.Random(0)
    for _ in range(40):
        with socket.create_connection(("127.0.0.1", client.port)) as connection:
            connection.sendall(request[: rng.randrange(1, len(request) + 1)])
            time.sleep(rng.uniform(0, 0.05))
    assert client.post("version-3/samples", n=5)["n"] == 5
    assert process.poll() is None
    for _ in range(50):
        if b"sliceflow_queue_length 0.0" in client("GET", "/metrics")[2]:
            return
        time.sleep(0.1)
    pytest.fail("requests of clients who have left are still in the queue")


@pytest.mark.parametrize("when", [0, 0.5])
def test_sigterm_loses_no_accepted_request(when):
    """Each request that got into the queue is answered; others are refused or not connected."""
    answered = []

    def ask(client):
        try:
            while True:
                answered.append(client.post("version-3/samples", n=300)["n"])
        except (OSError, AssertionError):
            return  # the server does not listen any more

    with process(FLOW) as (server, client):
        threads = [threading.Thread(target=ask, args=(client,)) for _ in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(when)
        server.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        out, errors = server.communicate(timeout=60)
        assert (server.returncode, errors) == (0, "")
    accepted = int(out.rpartition("stopped after ")[2].split()[0].replace(",", ""))
    assert len(answered) == accepted
    assert set(answered) <= {300}


def test_the_token_is_read_from_the_environment():
    with process(FLOW, SLICEFLOW_TOKEN="secret") as (_, client):
        assert client("GET", "/v1/models")[0] == 200
        client.token = "other"
        assert client("GET", "/v1/models")[0] == 401


def test_a_port_that_is_in_use(server, capsys):
    _, client = server
    with pytest.raises(SystemExit):
        main(["serve", str(FLOW), "--port", str(client.port)])
    assert "pass another host or port" in capsys.readouterr().err


def test_two_models_of_one_name(tmp_path, capsys):
    (tmp_path / "version-3").mkdir()
    with pytest.raises(SystemExit):
        main(["serve", str(FLOW), str(tmp_path / "version-3")])
    assert "both called version-3: rename one of them" in capsys.readouterr().err


def test_without_fastapi_it_says_what_to_install():
    code = "import sys; sys.modules['fastapi'] = None; from sliceflow.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", str(FLOW)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert 'pip install "sliceflow[serve]"' in done.stderr
