"""Kill a fit at random moments, let it go on, and compare what it ends with, byte by byte."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.ledger import ROOT, Figure
from sliceflow.data import load

KILLS, DURING_WRITES = 200, 50


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how many of the fits that were killed ended with the model of one that was not."""
    load("mnist")  # which the fit needs
    kills, during_writes = KILLS // shrink**2, DURING_WRITES // shrink**2
    rng, same, in_a_write = np.random.default_rng(0), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder, started = Path(name), time.perf_counter()
        start_fit(folder / "whole", folder / "whole.zip").wait()
        whole, duration = (folder / "whole.zip").read_bytes(), time.perf_counter() - started
        for number in range(kills):
            here, out = folder / str(number), folder / f"{number}.zip"
            in_a_write += kill(here, out, rng.uniform(0, duration), number < during_writes)
            start_fit(here, out).wait()
            same += out.read_bytes() == whole
    about = f"fits killed at a random moment and resumed that ended the same, of {kills}"
    yield Figure("kill_resume.ok", same, "", about)
    about = "of them killed while a checkpoint was half written"
    yield Figure("kill_resume.in_a_write", in_a_write, "", about)


def start_fit(checkpoints: Path, out: Path) -> subprocess.Popen:
    """Start the fit in a process of its own."""
    command = [sys.executable, "-m", "benchmarks._fit", str(checkpoints), str(out)]
    return subprocess.Popen(command, cwd=ROOT)


def kill(checkpoints: Path, out: Path, after: float, in_a_write: bool) -> bool:
    """Kill a fit after so many seconds, if asked then in its next write; return whether in one."""
    process = start_fit(checkpoints, out)
    time.sleep(after)
    while in_a_write and process.poll() is None and not list(checkpoints.glob("*.part")):
        pass
    process.kill()
    process.wait()
    return bool(list(checkpoints.glob("*.part")))
