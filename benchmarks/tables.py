"""Rows of whole tables: how often a classifier tells them from held-out rows."""

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from benchmarks._tables import FITTED, split
from benchmarks.ledger import Figure
from sliceflow import SlicedTable
from sliceflow.tables._compare import compare
from sliceflow.tables._layouts import read_table

SEEDS = (1, 2, 3)
"""Of the splits. Settings are chosen with others."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the C2ST, the distance to the nearest row, and the seconds of each table."""
    for name in FITTED if shrink == 1 else ("breast_cancer",):
        found = [
            measured(name, seed, min(shrink, 2)) for seed in (SEEDS if shrink == 1 else SEEDS[:1])
        ]
        score, distance, seconds = np.mean(found, axis=0)
        about = f"{name}: mean of {len(found)} splits"
        yield Figure(f"table.c2st.{name}", score, "", f"C2ST to held-out rows, {about}")
        text = f"distance to the nearest row / that of held-out rows, {about}"
        yield Figure(f"table.nearest.{name}", distance, "", text)
        yield Figure(f"table.seconds.{name}", seconds, "s", f"seconds of a fit, {about}")


def measured(name: str, seed: int, shrink: int) -> tuple[float, float, float]:
    """Return the three figures of one split."""
    fitted, held_out = split(name, seed, shrink)
    started = perf_counter()
    model = SlicedTable(keep_gaps=True, random_state=seed).fit(fitted)
    seconds = perf_counter() - started
    drawn = model.sample(len(held_out), random_state=seed)
    (_, ours), (_, rows), (_, others) = map(read_table, (drawn, fitted, held_out))
    return (*compare(ours, others, rows), seconds)
