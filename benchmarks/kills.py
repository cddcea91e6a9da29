"""Kill a fit at random moments, let it go on, and compare what it ends with, byte by byte."""

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.ledger import ROOT, Figure
from sliceflow.data import load

KILLS, IN_A_WRITE = 200, 50
AT_ONCE = 2
GLANCE = 0.001
"""Seconds between two looks at a folder: a checkpoint takes much longer to be written."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how many of the fits that were killed ended with the model of one that was not."""
    load("mnist")  # which the fit needs
    kills, in_a_write = KILLS // shrink**2, max(1, IN_A_WRITE // shrink**2)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(AT_ONCE) as pool:
        folder = Path(name)
        whole, between = timed_fit(folder)

        def one(number: int) -> tuple[bool, bool]:
            here, rng = folder / str(number), np.random.default_rng(number)
            written = kill(here, rng, between, number < in_a_write)
            return written, model_of(here, here.with_suffix(".zip")) == whole

        written, same = map(sum, zip(*pool.map(one, range(kills)), strict=True))
    about = (
        f"fits killed after their first checkpoint, and resumed, that ended the same, of {kills}"
    )
    yield Figure("kill_resume.ok", same, "", about)
    about = "of them killed while a checkpoint was being written"
    yield Figure("kill_resume.in_a_write", written, "", about)


def start_fit(checkpoints: Path, out: Path, **options) -> subprocess.Popen:
    """Start the fit in a process of its own."""
    command = [sys.executable, "-m", "benchmarks._fit", str(checkpoints), str(out)]
    return subprocess.Popen(command, cwd=ROOT, **options)


def model_of(checkpoints: Path, out: Path) -> bytes:
    """Return the file that a fit ends with, or nothing if it fails."""
    out.unlink(missing_ok=True)
    return out.read_bytes() if start_fit(checkpoints, out).wait() == 0 else b""


def timed_fit(folder: Path) -> tuple[bytes, tuple[float, float]]:
    """Return the model of a fit that nobody kills, and the seconds of its first and last write."""
    out, seen = folder / "timed.zip", []
    started, process = time.perf_counter(), start_fit(folder / "timed", out)
    while process.poll() is None:
        time.sleep(GLANCE)
        if is_writing(folder / "timed"):
            seen.append(time.perf_counter() - started)
    assert process.returncode == 0
    return out.read_bytes(), (seen[0], seen[-1])


def is_writing(checkpoints: Path) -> bool:
    """Whether there is a checkpoint that is not whole yet."""
    return any(checkpoints.glob("*.part"))


def kill(
    checkpoints: Path, rng: np.random.Generator, between: tuple[float, float], in_a_write: bool
) -> bool:
    """Kill a fit, if asked for in its next write; return whether in one."""
    process = start_fit(checkpoints, checkpoints.with_suffix(".unused"))
    time.sleep(rng.uniform(*between))
    while in_a_write and process.poll() is None and not is_writing(checkpoints):
        time.sleep(GLANCE)
    process.kill()
    if process.wait() == -signal.SIGKILL:
        return is_writing(checkpoints)
    shutil.rmtree(checkpoints)  # it had ended: try again
    return kill(checkpoints, rng, between, in_a_write)
