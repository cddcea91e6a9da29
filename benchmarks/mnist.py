"""Digits from noise to a saved grid, end to end: a new process, with imports and compilation."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from statistics import median

from benchmarks.ledger import ROOT, Figure
from sliceflow.data import load
from sliceflow.reproduce._speed import seconds


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the seconds of `examples/mnist.py`; the last grid is the one in the README."""
    load("mnist")  # which the example needs
    value = median(seconds(lambda: draw_digits(shrink)) for _ in range(repeats))
    about = "MNIST, 10,000 particles, from a new process to the saved grid"
    yield Figure("mnist.quick.seconds", value, "s", about)


def draw_digits(shrink: int) -> None:
    """Run the example with nothing compiled before; a small run leaves the picture alone."""
    with tempfile.TemporaryDirectory() as empty:
        out = "docs/digits.png" if shrink == 1 else f"{empty}/digits.png"
        command = [sys.executable, "examples/mnist.py", "--out", out]
        command += ["--n-particles", str(10_000 // shrink)]
        environment = os.environ | {"NUMBA_CACHE_DIR": empty}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
