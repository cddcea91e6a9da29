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
WRITES, LATER = 50, 0.2
"""A fit is killed after one of so many checkpoints, and up to so many seconds: a step or two."""
AT_ONCE = 2
GLANCE = 0.001
"""Seconds between two looks at a folder: a checkpoint takes much longer to be written."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how many of the fits that were killed ended with the model of one that was not."""
    load("mnist")  # which the fit needs
    kills, in_a_write = KILLS // shrink**2, max(1, IN_A_WRITE // shrink**2)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(AT_ONCE) as pool:
        folder = Path(name)
        whole = whole_model(folder)

        def one(number: int) -> tuple[bool, bool]:
            here, rng = folder / str(number), np.random.default_rng(number)
            written = kill(here, rng, number < in_a_write)
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


def whole_model(folder: Path) -> bytes:
    """Return the file that a fit ends with which nobody stops."""
    model = model_of(folder / "whole", folder / "whole.zip")
    assert model  # or fits that fail would be equal to it
    return model


def is_writing(checkpoints: Path) -> bool:
    """Whether there is a checkpoint that is not whole yet."""
    return any(checkpoints.glob("*.part"))


def fit_in_a_write(checkpoints: Path, rng: np.random.Generator) -> subprocess.Popen:
    """Start a fit; return it when it writes its second checkpoint or a later one, or has ended."""
    process = start_fit(checkpoints, checkpoints.with_suffix(".unused"))
    number, was = rng.integers(2, WRITES), False
    while number and process.poll() is None:
        time.sleep(GLANCE)
        now = is_writing(checkpoints)
        number -= now and not was
        was = now
    return process


def kill(checkpoints: Path, rng: np.random.Generator, in_a_write: bool) -> bool:
    """Kill a fit in a write, or at any moment after it; return whether in one."""
    process = fit_in_a_write(checkpoints, rng)
    time.sleep(0 if in_a_write else rng.uniform(0, LATER))
    process.kill()
    if process.wait() == -signal.SIGKILL:
        return is_writing(checkpoints)
    shutil.rmtree(checkpoints)  # it had ended: try again
    return kill(checkpoints, rng, in_a_write)
