"""The model of docs/scaling.md: a step on P processes, from what one takes and from the network."""

import math
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

import numpy as np
import scipy.optimize

from benchmarks._ranked import SCHEDULES
from benchmarks.ledger import Figure
from benchmarks.ranks import formula, launched
from sliceflow.core._distributed import BLOCK_VALUES, SHARDS
from sliceflow.transport._histogram import CELLS

FITTED = [
    *((5000, 5000, SHARDS), (5000, 20_000, SHARDS), (20_000, 5000, SHARDS)),
    *((20_000, 20_000, SHARDS), (20_000, 20_000, SHARDS // 4)),
]
HELD_OUT = [(10_000, 10_000, SHARDS), (30_000, 20_000, SHARDS)]
"""Particles, rows and shards of all processes together."""
SIDE = 7
"""Of patches."""


class Network(NamedTuple):
    """Seconds of a message, with waiting for one another, and of each byte merged."""

    message: float
    byte: float


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the costs of the network, and how far the model is from what is measured."""
    fitted, held_out = (
        [(m // shrink, n // shrink, v) for m, n, v in sizes] for sizes in (FITTED, HELD_OUT)
    )
    rows = [
        (terms(k, *size, 1), took)
        for size in fitted
        for k, took in measured(*size, 1, repeats).items()
    ]
    weighted = np.array([row / took for row, took in rows])  # relative errors count alike
    cost, _ = scipy.optimize.nnls(weighted, np.ones(len(rows)))
    network = Network(**launched(2, module="benchmarks._network"))
    yield Figure("network.message", 1e6 * network.message, "us", "a message of 2 that work")
    yield Figure("network.byte", 1e9 * network.byte, "ns", "a byte merged by 2 processes")
    for p in (1, 2):
        errors = [
            predicted(k, *size, p, cost, network) / took - 1
            for size in held_out
            for k, took in measured(*size, p, repeats).items()
        ]
        about = "model of a step: largest relative error, at sizes it was not fitted to"
        yield Figure(f"scaling.error.{p}", max(map(abs, errors)), "", f"{about}, P = {p}")


def terms(k: int, m: int, n: int, v: int, p: int) -> np.ndarray:
    """Return how often a process works on a particle, a row, a tile of a shard, and a step."""
    tiles = (k // SIDE) ** 2
    h = tiles * SIDE**2
    return np.array([h * m / p, h * n / p, tiles * v / p, 1])


def predicted(k: int, m: int, n: int, v: int, p: int, cost: np.ndarray, network: Network) -> float:
    """Return the seconds of a step: work, and then what P processes merge."""
    work = float(terms(k, m, n, v, p) @ cost)
    if p == 1:
        return work
    h = (k // SIDE * SIDE) ** 2
    ring = 2 * (p - 1) / p  # which is 1 for 2 processes
    messages = 8 * math.ceil(h * max(m, n) / p / BLOCK_VALUES)
    return work + messages * network.message + ring * formula(h, CELLS) * network.byte


def measured(m: int, n: int, v: int, p: int, repeats: int) -> dict[int, float]:
    """Return the seconds of a step at each resolution: the first of a stage prepares the others."""
    schedule = SCHEDULES["mnist"]
    ends = np.cumsum([stage.steps for stage in schedule]) - 1
    found: dict[int, list[float]] = {}
    for _ in range(repeats):
        times = launched(p, rows=n, particles=m, shards=v)["seconds"]
        for stage, part in zip(schedule, np.split(times, ends[:-1]), strict=True):
            found.setdefault(stage.resolution or 0, []).append(median(part[1:]))
    return {k: median(times) for k, times in found.items()}
