"""Rows of whole tables by our model and by other methods, with default settings and one thread."""

from collections.abc import Iterator

import numpy as np

from benchmarks._table_rivals import LIMIT, drawn_by
from benchmarks._tables import split
from benchmarks.ledger import Figure
from benchmarks.tables import SEEDS, measured
from sliceflow.tables._compare import compare
from sliceflow.tables._layouts import read_table

TABLES = ("breast_cancer", "males", "diamonds")
"""From small to large: a rival that is stopped at one is not tried with the next."""

COPIES = "bootstrap"
"""Rows of the data with a little noise: no rival, but it shows what copying scores."""

LONG = 600
"""A rival that takes more CPU seconds than this is fitted to one split."""

RIVALS = ("gaussian_copula", "tvae", "ctgan", "utrees", "forest_diffusion")


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the C2ST, the distance to the nearest row and the seconds of each; who is ahead."""
    names, rivals = (TABLES, (COPIES, *RIVALS)) if shrink == 1 else (TABLES[:1], ())
    ahead, stopped = 0, set()
    for name in names:
        ours = np.mean([measured(name, seed, min(shrink, 2)) for seed in SEEDS], axis=0)
        yield from figures("sliceflow", name, ours, len(SEEDS))
        for rival in (rival for rival in rivals if rival not in stopped):
            if (found := mean_of(rival, name)) is None:
                about = f"CPU seconds after which it was stopped, {rival}: {name}"
                yield Figure(f"table.beside.seconds.{rival}.{name}", LIMIT, "s", about)
                stopped.add(rival)
                continue
            yield from figures(rival, name, *found)
            ahead += rival != COPIES and found[0][0] < ours[0]
    about = f"tables on which a rival has a lower C2ST, of {len(names)}"
    yield Figure("table.rivals_ahead", ahead, "", about)


def mean_of(method: str, name: str) -> tuple[np.ndarray, int] | None:
    """Return the figures of a rival, mean of some splits, and their number; None if stopped."""
    found = []
    for seed in SEEDS:
        fitted, held_out = split(name, seed)
        if (drawn := drawn_by(method, fitted, len(held_out))) is None:
            return None
        (_, theirs), (_, others), (_, rows) = map(read_table, (drawn.rows, held_out, fitted))
        found.append((*compare(theirs, others, rows), drawn.seconds))
        if drawn.seconds > LONG:
            break
    return np.mean(found, axis=0), len(found)


def figures(method: str, name: str, found: np.ndarray, splits: int) -> Iterator[Figure]:
    """Yield the figures of a method."""
    score, distance, seconds = found
    end = f"{method}, {name}: mean of {splits} splits"
    yield Figure(f"table.beside.c2st.{method}.{name}", score, "", f"C2ST to held-out rows, {end}")
    about = f"distance to the nearest row / that of held-out rows, {end}"
    yield Figure(f"table.beside.nearest.{method}.{name}", distance, "", about)
    about = f"CPU seconds of a fit and of the samples, {end}"
    yield Figure(f"table.beside.seconds.{method}.{name}", seconds, "s", about)
