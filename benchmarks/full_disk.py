"""Checkpoints when the disk is full, and when the process is told to end while it writes one."""

import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.kills import AT_ONCE, fit_in_a_write, model_of, start_fit, whole_model
from benchmarks.ledger import Figure
from sliceflow.data import load

TRIES = 50
ROOM = (7, 14)
"""MiB that the disk has: two checkpoints have room on it, and at some step a third has not."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how many fits ended with the same bytes all the same."""
    load("mnist")  # which the fit needs
    tries = max(1, TRIES // shrink**2)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(AT_ONCE) as pool:
        folder = Path(name)
        whole = whole_model(folder)

        def ok(spoiled: Callable[[Path, np.random.Generator], bytes]) -> int:
            seeds = map(np.random.default_rng, range(tries))
            return sum(pool.map(lambda rng: spoiled(folder, rng) == whole, seeds))

        about = f"told to end in a write, then resumed, of {tries}"
        yield Figure("sigterm.ok", ok(told_to_end), "", about)
        try:
            full = ok(on_a_full_disk)
        except subprocess.CalledProcessError:
            print("  a small disk can be mounted by root alone: skipped")
            return
        yield Figure("disk_full.ok", full, "", f"killed with a full disk, then resumed, of {tries}")


def told_to_end(folder: Path, rng: np.random.Generator) -> bytes:
    """Return the model of a fit that was sent SIGTERM in a write, and went on from there."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        checkpoints = Path(name, "checkpoints")
        process = fit_in_a_write(checkpoints, rng)
        process.terminate()
        if process.wait() == 0:  # it had ended: try again
            return told_to_end(folder, rng)
        assert process.returncode == 128 + signal.SIGTERM, process.returncode
        return model_of(checkpoints, Path(name, "model.zip"))


def on_a_full_disk(folder: Path, rng: np.random.Generator) -> bytes:
    """Return the model of a fit that was killed after its disk was full, and went on there."""
    room = int(rng.integers(*ROOM))
    with tempfile.TemporaryDirectory(dir=folder) as name, small_disk(Path(name), room) as disk:
        here = {"stderr": subprocess.PIPE, "text": True}
        with start_fit(disk / "checkpoints", disk / "unused.zip", **here) as process:
            assert any("no checkpoint could be written" in line for line in process.stderr)
            process.kill()
        return model_of(disk / "checkpoints", disk.with_suffix(".zip"))


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[Path]:
    """Mount a small file system in memory."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
