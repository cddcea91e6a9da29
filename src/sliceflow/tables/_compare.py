"""How close sampled rows are to rows of data: columns alone, all together, and copies."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from threadpoolctl import threadpool_limits

from sliceflow.tables._columns import Column
from sliceflow.tables._raw import Raw
from sliceflow.tables._types import encoded

FOLDS = 5
"""Number of parts of the rows, each of which is told apart by a classifier fitted to the others."""

MIN_ROWS = 20
"""Minimum number of rows of each table."""

MAX_NEIGHBOURS = 2000
"""Number of rows whose nearest row of data is searched."""


def compare(samples: Sequence[Raw], data: Sequence[Raw]) -> dict[str, float]:
    """Return figures that compare samples with data, which have the same columns.

    - C2ST: the share of rows that a classifier (boosted trees) assigns to the right table, if it is
      fitted to others. At best 0.5.
    - The largest difference of a column: between the shares of values in both tables (total
      variation of words, Kolmogorov and Smirnov's distance of numbers). At best 0.
    - The distance to the nearest row of data, divided by that between rows of data. Far below 1,
      rows are copied.

    Complete samples are compared with complete rows of data.
    """
    if not any(raw.gaps.any() for raw in samples):
        complete = ~np.any([raw.gaps for raw in data], axis=0)
        data = [raw[complete] for raw in data]
    if min(len(samples[0].gaps), len(data[0].gaps)) < MIN_ROWS:
        raise ValueError(
            f"there are too few rows to compare: pass {MIN_ROWS} complete ones or more"
        )
    columns, (ours, theirs) = _coded(samples, data)
    differences = {
        c.name: _difference(a, b, c.is_ordered)
        for c, a, b in zip(columns, ours.T, theirs.T, strict=True)
    }
    worst = max(differences, key=lambda name: differences[name])
    ours, theirs = (np.random.default_rng(0).permutation(rows) for rows in (ours, theirs))
    half = len(theirs) // 2
    return {
        "samples": len(ours),
        "rows of data": len(theirs),
        "C2ST": c2st(ours, theirs),
        f"largest difference of a column, {worst}": differences[worst],
        "nearest row of data, relative": _nearest(columns, ours, theirs[half:], theirs[:half]),
    }


def nearest(samples: Sequence[Raw], held_out: Sequence[Raw], data: Sequence[Raw]) -> float:
    """Return the distance of samples to the nearest row of data, relative to held-out rows."""
    columns, (ours, others, rows) = _coded(samples, held_out, data)
    return _nearest(columns, ours, others, rows)


def _coded(*tables: Sequence[Raw]) -> tuple[list[Column], list[np.ndarray]]:
    """Return the columns of all tables together, and the codes of each table."""
    joined = [reduce(Raw.joined, raws) for raws in zip(*tables, strict=True)]
    columns = [raw.column() for raw in joined]
    return columns, [encoded(raws, columns) for raws in tables]


def c2st(samples: np.ndarray, data: np.ndarray) -> float:
    """Return the accuracy of a classifier that tells samples from data, both (n, d) of codes."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    n = min(len(samples), len(data))
    rows, truth = np.concatenate([samples[:n], data[:n]]), np.repeat([0, 1], n)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    classifier = HistGradientBoostingClassifier(random_state=0)
    with threadpool_limits(1):  # threads that spin while they wait crawl on a busy machine
        return float(cross_val_score(classifier, rows, truth, cv=folds).mean())


def _difference(samples: np.ndarray, data: np.ndarray, is_ordered: bool) -> float:
    """Return the largest difference of shares between two columns of codes."""
    codes = np.unique(np.concatenate([samples, data]))
    shares = [
        np.bincount(np.searchsorted(codes, column), minlength=len(codes)) / len(column)
        for column in (samples, data)
    ]
    difference = shares[0] - shares[1]
    return float(
        np.abs(np.cumsum(difference)).max() if is_ordered else np.abs(difference).sum() / 2
    )


def _nearest(
    columns: Sequence[Column], samples: np.ndarray, others: np.ndarray, data: np.ndarray
) -> float:
    """Return the median distance of samples to data, divided by that of other rows."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=1).fit(_points(columns, data))
    ours, theirs = (
        search.kneighbors(_points(columns, rows[:MAX_NEIGHBOURS]))[0] for rows in (samples, others)
    )
    return float(np.median(ours) / max(np.median(theirs), 1e-300))


def _points(columns: Sequence[Column], codes: np.ndarray) -> np.ndarray:
    """Return rows as points: two words are as far apart as numbers by one standard deviation."""
    parts = []
    for column, values in zip(columns, codes.T, strict=True):
        if column.is_ordered:
            parts.append(column.place(values)[:, None])
        else:
            parts.append((values[:, None] == np.arange(len(column.values))) / np.sqrt(2))
    return np.concatenate(parts, axis=1)
