"""Many processes: the same bits, what crosses the wire, and twice the work by twice as many."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks.forecasts import write_table
from benchmarks.ledger import ROOT, Figure
from sliceflow.transport._histogram import CELLS, CELLS_PER_BUCKET

PROCESSES = (1, 2, 3, 4, 8)
H = 28 * 28
"""Directions of the last steps."""
TABLES = (3000, 1001, 67, 20)
"""Rows of tables that do not divide evenly among processes; the last has fewer than 64 shards."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the largest number of processes with the same bits; bytes a step; weak scaling."""
    size = {"rows": 10_000 // shrink, "particles": 10_000 // shrink}
    if shrink == 1:
        yield same_bits(size, PROCESSES, ("mnist", "table"), (1, 2))
        yield cli_same_bits(TABLES, PROCESSES)
    else:
        yield same_bits(size, (1, 2), ("mnist",), (1,))
        yield cli_same_bits((1001, 20), (1, 3))
    yield from wire(size)
    ratios = [weak_scaling(size) for _ in range(repeats)]
    about = "seconds of a step, 2 processes with twice the particles and rows / 1, a thread each"
    yield Figure("weak_scaling.2", median(ratios), "times", about)


def launched(
    processes: int, threads: int = 1, module: str = "benchmarks._ranked", **options
) -> dict:
    """Return what a module, by default a fit, tells on so many processes."""
    command = [*launcher(processes), "-m", module, json.dumps(options)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def launcher(processes: int) -> list[str]:
    """Return the command that starts processes on this host."""
    options = ["--standalone", f"--nproc-per-node={processes}"]
    return [sys.executable, "-m", "sliceflow.launch", *options]


def same_bits(
    size: dict, processes: tuple[int, ...], kinds: tuple[str, ...], threads: tuple[int, ...]
) -> Figure:
    """Compare sums of particles and model, of each kind of data and number of threads."""

    def sums(p: int) -> list[set[str]]:
        return [
            {launched(p, each, data=data, **size)["digest"] for each in threads} for data in kinds
        ]

    largest = most_alike(processes, sums)
    about = f"most processes, of {processes}, with the same particles and model to the bit"
    told = f"{about}: {' and '.join(kinds)}, {' and '.join(map(str, threads))} threads"
    return Figure("ranks.same_bits", largest, "", told)


def most_alike(processes: tuple[int, ...], sums: Callable[[int], list[set[str]]]) -> int:
    """Return the last number of processes up to which all have the same sums, one in each set."""
    wanted, largest = None, 0
    for p in processes:
        found = sums(p)
        wanted = wanted or found
        if found != wanted or any(len(same) > 1 for same in found):
            break
        largest = p
    return largest


def cli_same_bits(rows: tuple[int, ...], processes: tuple[int, ...]) -> Figure:
    """Compare the models of fits by the command line, byte by byte, to tables of so many rows."""
    with tempfile.TemporaryDirectory() as name:
        tables = [Path(name, f"{n}.csv") for n in rows]
        for table, n in zip(tables, rows, strict=True):
            write_table(table, n)

        def sums(p: int) -> list[set[str]]:
            outs = [table.with_suffix(f".{p}") for table in tables]
            pairs = zip(tables, outs, strict=True)
            return [{model_sum(cli_fit(table, out, p), out)} for table, out in pairs]

        largest = most_alike(processes, sums)
    told = ", ".join(f"{n:,}" for n in rows)
    about = f"most processes, of {processes}, with the same model.zip by the command line"
    return Figure("ranks.cli_same_bits", largest, "", f"{about}: tables of {told} rows")


def cli_fit(table: Path, out: Path, processes: int, effort: float = 1) -> subprocess.Popen:
    """Start a fit to a table by the command line."""
    options = ["--schedule", "quick", "--effort", str(effort), "--random-state", "0"]
    fit = ["fit", str(table), *options, "--distributed", "--out", str(out)]
    command = [*launcher(processes), "-m", "sliceflow", *fit]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)


def model_sum(fit: subprocess.Popen, out: Path, seconds: float | None = None) -> str:
    """Wait for a fit to end, and return the sum of its model."""
    if fit.wait(seconds):
        return f"{out} failed"  # which is like no other
    return hashlib.sha256((out / "model.zip").read_bytes()).hexdigest()


def wire(size: dict) -> Iterator[Figure]:
    """Yield the bytes that 2 processes merge in a step, as the formula says, and as they grow."""
    few, many = ({k: v * times // 4 for k, v in size.items()} for times in (1, 16))
    (small, by_wire), (large, _) = (last_step(launched(2, **some)) for some in (few, many))
    yield Figure("wire_bytes_per_step", small, "", "bytes that a process merges in a step, 28×28")
    yield Figure("wire.formula", small / formula(H, CELLS), "", "of what the formula says")
    yield Figure("wire.growth", large / small, "times", "as many with 16 times the rows")
    about = "bytes through the network device / those merged by both processes"
    yield Figure("wire.overhead", by_wire / (2 * small), "times", about)


def last_step(found: dict) -> tuple[int, int]:
    """Return what is merged in the last step, and what went through the network then."""
    return found["sent"][-1], median(found["wire"][-5:])


def formula(h: int, b: int) -> int:
    """Return bytes a step: of p and q, two extremes and counts on buckets and cells; and a size."""
    return 2 * h * 4 * (2 + b // CELLS_PER_BUCKET + b) + 8


def weak_scaling(size: dict) -> float:
    """Return how long a step of 2 processes with twice the work takes, in steps of one."""
    one = launched(1, **size)
    two = launched(2, **{name: 2 * value for name, value in size.items()})
    return median(two["seconds"][-7:]) / median(one["seconds"][-7:])
