"""Many processes: the same bits, what crosses the wire, and twice the work by twice as many."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks.ledger import ROOT, Figure
from sliceflow.transport.histogram import BUCKET, CELLS

PROCESSES = (1, 2, 3, 4, 8)
H = 28 * 28
"""Directions of the last steps."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the largest number of processes with the same bits; bytes a step; weak scaling."""
    size = {"rows": 10_000 // shrink, "particles": 10_000 // shrink}
    if shrink == 1:
        yield same_bits(size, PROCESSES, ("mnist", "table"), (1, 2))
    else:
        yield same_bits(size, (1, 2), ("mnist",), (1,))
    yield from wire(size)
    ratios = [weak_scaling(size) for _ in range(repeats)]
    about = "seconds of a step, 2 processes with twice the particles and rows / 1, a thread each"
    yield Figure("weak_scaling.2", median(ratios), "times", about)


def launched(
    processes: int, threads: int = 1, module: str = "benchmarks._ranked", **options
) -> dict:
    """Return what a module, by default a fit, tells on so many processes."""
    launcher = ["-m", "sliceflow.launch", "--standalone", f"--nproc-per-node={processes}"]
    command = [sys.executable, *launcher, "-m", module, json.dumps(options)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def same_bits(
    size: dict, processes: tuple[int, ...], kinds: tuple[str, ...], threads: tuple[int, ...]
) -> Figure:
    """Compare sums of particles and model, of each kind of data and number of threads."""
    wanted, largest = None, 0
    for p in processes:
        digests = [
            {launched(p, each, data=data, **size)["digest"] for each in threads} for data in kinds
        ]
        wanted = wanted or digests
        if digests != wanted or any(len(both) > 1 for both in digests):
            break
        largest = p
    about = f"most processes, of {processes}, with the same particles and model to the bit"
    told = f"{about}: {' and '.join(kinds)}, {' and '.join(map(str, threads))} threads"
    return Figure("ranks.same_bits", largest, "", told)


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
    return 2 * h * 4 * (2 + b // BUCKET + b) + 8


def weak_scaling(size: dict) -> float:
    """Return how long a step of 2 processes with twice the work takes, in steps of one."""
    one = launched(1, **size)
    two = launched(2, **{name: 2 * value for name, value in size.items()})
    return median(two["seconds"][-7:]) / median(one["seconds"][-7:])
