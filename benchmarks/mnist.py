"""Digits from noise to a saved grid, end to end: a new process, with imports and compilation."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.ledger import ROOT, Figure
from benchmarks.steps import seconds

DATA = Path(os.environ.get("SLICEFLOW_DATA", Path.home() / ".cache/sliceflow")) / "mnist"


def run(repeats: int) -> Iterator[Figure]:
    """Yield the seconds of `examples/mnist.py`; the last grid is the one in the README."""
    if not list(DATA.glob("train-images-idx3-ubyte*")):
        print(f"  MNIST is not in {DATA}: skipped")
        return
    value = median(seconds(draw_digits) for _ in range(repeats))
    about = "MNIST, 10,000 particles, from a new process to the saved grid"
    yield Figure("mnist.quick.seconds", value, "s", about)


def draw_digits() -> None:
    """Run the example with nothing compiled before."""
    command = [sys.executable, "examples/mnist.py", "--out", "docs/digits.png", "--data", DATA]
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | {"NUMBA_CACHE_DIR": empty}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
