"""A server under load, with clients that are killed, and with requests that are made up."""

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

from benchmarks._clients import SIZES
from benchmarks._fuzz import statuses
from benchmarks.bad_files import small_model
from benchmarks.ledger import ROOT, Figure
from benchmarks.offline import quick_fit
from sliceflow import SlicedFlow, SlicedTable
from sliceflow.model import Model
from sliceflow.reproduce._speed import seconds

CLIENTS, SECONDS = 64, 600
"""Number of clients, and how long they ask."""

MANY, FEW = 1000, 10
"""Samples drawn at once, in the loops that a server is compared with."""

KILLS, STOPS, FUZZED = 200, 10, 10_000

READY = 120
"""Seconds after which all work of a server has to be done."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how fast a server answers, and how often it fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fitted, _, _ = quick_fit("mnist", 10_000 // shrink**2, shrink)
        fitted.model_.save(folder / "digits.zip")
        yield from load(folder / "digits.zip", fitted.model_, shrink)
        yield from kills(folder / "digits.zip", KILLS // shrink)
        yield from stops(folder / "digits.zip", max(1, STOPS // shrink))
        save_small_models(folder)
        yield from fuzz(sorted(folder.glob("small-*.zip")), FUZZED // shrink)


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen, int]]:
    """Start a server on any port."""
    command = [sys.executable, "-m", "sliceflow", "serve", *map(str, arguments), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield server, int(server.stdout.readline().rpartition(":")[2])
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def clients(port: int, count: int, duration: float) -> subprocess.Popen:
    """Start clients in a process of their own."""
    what = (port, "/v1/models/digits/samples", count, duration)
    command = [sys.executable, "-m", "benchmarks._clients", *map(str, what)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def found(process: subprocess.Popen) -> tuple[dict[str, int], list[float], float]:
    """Return how often each status came, the milliseconds of answers, and samples a second."""
    out, _ = process.communicate()
    result = json.loads(out)
    samples = sum(n for _, n in result["answers"])
    return result["statuses"], [ms for ms, _ in result["answers"]], samples / result["seconds"]


def load(path: Path, model: Model, shrink: int) -> Iterator[Figure]:
    """Yield what many clients find in a long time."""
    duration = SECONDS / shrink**2
    many, few = speed(model, MANY), speed(model, FEW)
    with serving(path) as (server, port):
        asking, sizes = clients(port, CLIENTS, duration), []
        for _ in range(60):
            time.sleep(duration / 60)
            sizes.append(memory(server.pid))
        counts, ms, rate = found(asking)
    errors = sum(count for status, count in counts.items() if status not in ("200", "429"))
    sizes_asked = f"{', '.join(map(str, SIZES[:-1]))} or {SIZES[-1]} digits each"
    who = f"{CLIENTS} clients, {sizes_asked}, in {duration / 60:.2g} minutes"
    yield Figure("serve.errors", errors, "", f"answers that are errors other than 429: {who}")
    yield Figure("serve.answers", len(ms), "", f"answers: {who}")
    for q in (50, 99):
        about = f"{'half' if q == 50 else '99 %'} of the answers came within: {who}"
        yield Figure(f"serve.p{q}_ms", float(np.percentile(ms, q)), "ms", about)
    for name, alone, n in (("throughput_ratio", many, MANY), ("sharing_gain", few, FEW)):
        about = f"samples a second / those of a loop of sample({n}) in Python: {who}"
        yield Figure(f"serve.{name}", rate / alone, "times", about)
    early, late = (max(part) for part in (sizes[len(sizes) // 6 : len(sizes) // 3], sizes[-10:]))
    about = f"growth of the server's memory, from the second sixth of the time to the last: {who}"
    yield Figure("serve.growth", 100 * (late / early - 1), "%", about)


def speed(model: Model, n: int) -> float:
    """Return the samples a second of a loop that draws n at a time."""
    y = np.arange(n) % 10
    model.sample(n, y)  # compile
    return n / median(seconds(lambda: model.sample(n, y)) for _ in range(5))


def memory(pid: int) -> int:
    """Return the memory of a process in KiB."""
    return int(re.findall(r"VmRSS:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())[0])


def kills(path: Path, count: int) -> Iterator[Figure]:
    """Kill clients at random moments of their requests, and see what the server does then."""
    rng = np.random.default_rng(0)
    with serving(path) as (server, port):
        before = ask(port)
        for _ in range(count):
            one = clients(port, 1, READY)
            time.sleep(rng.uniform(0.1, 0.6))  # Python begins, then the first request
            one.kill()
            one.communicate()
        ok = count if server.poll() is None and wait_until_idle(port) and ask(port) == before else 0
    about = f"clients killed, of {count}, after which the server answers as before"
    yield Figure("serve.kills", ok, "", about)


def ask(port: int, method: str = "POST", path: str = "/v1/models/digits/samples") -> bytes:
    """Return the body of an answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=READY)
    body = json.dumps({"n": 3, "seed": 0}) if method == "POST" else None
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse().read()
    connection.close()
    return answer


def wait_until_idle(port: int) -> bool:
    """Return whether the queue becomes empty."""
    until = time.monotonic() + READY
    while time.monotonic() < until:
        if b"sliceflow_queue_length 0.0" in ask(port, "GET", "/metrics"):
            return True
        time.sleep(0.1)
    return False


def stops(path: Path, count: int) -> Iterator[Figure]:
    """Stop servers under load, and compare what they accepted with what clients got."""
    lost, rng = 0, np.random.default_rng(0)
    for _ in range(count):
        with serving(path) as (server, port):
            asking = clients(port, CLIENTS, READY)
            time.sleep(rng.uniform(2, 5))
            server.send_signal(signal.SIGTERM)
            counts, ms, _ = found(asking)
            out, _ = server.communicate()
            accepted = int(re.findall(r"stopped after ([\d,]+)", out)[0].replace(",", ""))
            lost += abs(accepted - len(ms)) + counts.get("broken", 0) + (server.returncode != 0)
    about = f"accepted requests without an answer, {count} servers stopped with {CLIENTS} clients"
    yield Figure("serve.lost", lost, "", about)


def save_small_models(folder: Path) -> None:
    """Save a model of every kind."""
    rng = np.random.default_rng(0)
    small_model().save(folder / "small-labels.zip")
    bytes_ = rng.integers(256, size=(100, 1, 6, 6)).astype(np.uint8)
    settings = {"schedule": "quick", "n_particles": 100, "random_state": 0}
    SlicedFlow(observed="left", **settings).fit(bytes_).save(folder / "small-halves.zip")
    x, y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    SlicedFlow(**settings).fit(x, y).save(folder / "small-numbers.zip")
    flowers = pd.read_csv(ROOT / "examples" / "flowers.csv")
    SlicedTable(random_state=0).fit(flowers).save(folder / "small-flowers.zip")


def fuzz(paths: list[Path], count: int) -> Iterator[Figure]:
    """Send requests that are made up."""
    with serving(*paths, "--max-n", "50", "--seconds", "20") as (server, port):
        answers = list(statuses(port, count))
        assert server.poll() is None, "the server has ended"
    faults = sum(status >= 500 for status in answers)
    right = sum(status == 200 for status in answers)
    yield Figure("serve.fuzzed", len(answers), "", "requests made up from OpenAPI, all answered")
    yield Figure("serve.fuzzed.right", right, "", "of them were right, and had samples")
    yield Figure("serve.fuzzed.faults", faults, "", "of them had a status of 500 or more")
