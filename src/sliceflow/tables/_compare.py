"""How close sampled rows are to rows of data: columns alone, all together, and copies."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np
from threadpoolctl import threadpool_limits

from sliceflow.tables._columns import Column
from sliceflow.tables._dependence import Pair, dependence, strongest
from sliceflow.tables._histograms import Histogram
from sliceflow.tables._raw import Raw
from sliceflow.tables._types import encoded

FOLDS = 5
"""Number of parts of the rows, each of which is told apart by a classifier fitted to the others."""

MIN_ROWS = 20
"""Minimum number of rows of each table."""

MAX_NEIGHBOURS = 2000
"""Number of rows whose nearest row of data is searched."""

MAX_TARGETS = 5
"""Number of columns that are predicted: those that depend most on others."""


class TooFewRowsError(ValueError):
    """Tables have too few rows without gaps to be compared."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """How samples compare with rows of data.

    Parameters
    ----------
    n_samples, n_rows
        The number of samples, and of rows.
    c2st
        C2ST: the share of rows that a classifier (boosted trees) assigns to the right table, if it
        is fitted to others. At best 0.5.
    histograms
        Both tables, column by column.
    dependence
        How strongly columns depend on each other in the data, and in samples, (2, d, d).
    pairs
        The pairs of columns that depend most on each other.
    scores
        How well columns of data are predicted from the others by a model fitted to other rows of
        data, and by one fitted to samples: the mean share of right words, and of variance of
        numbers. At best the same.
    nearest
        The median distance of samples to the nearest row of data, divided by that between rows of
        data. Far below 1, rows are copied.
    """

    n_samples: int
    n_rows: int
    c2st: float
    histograms: Sequence[Histogram]
    dependence: np.ndarray
    pairs: Sequence[Pair]
    scores: tuple[float, float]
    nearest: float

    @classmethod
    def of(cls, samples: Sequence[Raw], data: Sequence[Raw]) -> Self:
        """Compare samples with data, which have the same columns.

        Complete samples are compared with complete rows of data.
        """
        if not any(raw.gaps.any() for raw in samples):
            complete = ~np.any([raw.gaps for raw in data], axis=0)
            data = [raw[complete] for raw in data]
        if min(len(samples[0].gaps), len(data[0].gaps)) < MIN_ROWS:
            raise TooFewRowsError(
                f"there are too few rows to compare: pass {MIN_ROWS} complete ones or more"
            )
        columns, coded = _coded(samples, data)
        ours, theirs = (np.random.default_rng(0).permutation(rows) for rows in coded)
        both = np.stack([dependence(columns, rows) for rows in (theirs, ours)])
        return cls(
            len(ours),
            len(theirs),
            c2st(ours, theirs),
            [Histogram.of(c, theirs[:, i], ours[:, i]) for i, c in enumerate(columns)],
            both,
            strongest(columns, both[0], theirs, ours),
            _scores(columns, both[0], ours, theirs),
            _median(columns, ours, theirs) / _median(columns, theirs, theirs, 2),
        )

    def figures(self) -> dict[str, float]:
        """Return the comparison as numbers by name."""
        worst = max(self.histograms, key=lambda h: h.difference)
        apart = np.abs(self.dependence[1] - self.dependence[0])
        return {
            "samples": self.n_samples,
            "rows of data": self.n_rows,
            "C2ST": self.c2st,
            f"largest difference of a column, {worst.name}": worst.difference,
            "largest difference of dependence of two columns": float(apart.max()),
            "prediction of columns, fitted to data": self.scores[0],
            "prediction of columns, fitted to samples": self.scores[1],
            "nearest row of data, relative": self.nearest,
        }


def told_apart(samples: Sequence[Raw], data: Sequence[Raw]) -> float:
    """Return the C2ST of samples and data."""
    return c2st(*_coded(samples, data)[1])


def compare(samples: Sequence[Raw], held_out: Sequence[Raw], data: Sequence[Raw]) -> np.ndarray:
    """Return the C2ST of samples and held-out rows, and how near samples are to rows of data.

    The latter is relative to the held-out rows.
    """
    columns, (ours, others, rows) = _coded(samples, held_out, data)
    distances = [_median(columns, points, rows) for points in (ours, others)]
    return np.array([c2st(ours, others), distances[0] / distances[1]])


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


def _scores(
    columns: Sequence[Column], dependence: np.ndarray, samples: np.ndarray, data: np.ndarray
) -> tuple[float, float]:
    """Return how well rows of data are predicted by other rows, and by samples."""
    half = len(data) // 2
    if len(columns) < 2:
        return 0.0, 0.0
    targets = np.argsort(-np.sort(dependence, axis=1)[:, -2], kind="stable")[:MAX_TARGETS]
    n = min(half, len(samples))
    scores = [
        [_score(columns[i], i, rows[:n], data[half:]) for i in targets] for rows in (data, samples)
    ]
    ours, theirs = np.mean(scores, axis=1)
    return float(ours), float(theirs)


def _score(column: Column, i: int, fitted: np.ndarray, others: np.ndarray) -> float:
    """Return how well trees fitted to some rows predict a column of others."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = ExtraTreesRegressor if column.is_ordered else ExtraTreesClassifier
    (X, y), (Z, t) = ((np.delete(rows, i, axis=1), rows[:, i]) for rows in (fitted, others))
    if column.is_ordered:
        y, t = column.place(y), column.place(t)
    trees = kind(random_state=0, min_samples_leaf=5)
    return float(trees.fit(X, y).score(Z, t)) if np.ptp(t) else 1.0


def _median(columns: Sequence[Column], rows: np.ndarray, data: np.ndarray, k: int = 1) -> float:
    """Return the median distance of rows to their k-th nearest row of data; not quite 0."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=k).fit(_points(columns, data))
    distances, _ = search.kneighbors(_points(columns, rows[:MAX_NEIGHBOURS]))
    return max(float(np.median(distances[:, -1])), 1e-300)


def _points(columns: Sequence[Column], codes: np.ndarray) -> np.ndarray:
    """Return rows as points: two words are as far apart as numbers by one standard deviation."""
    parts = []
    for column, values in zip(columns, codes.T, strict=True):
        if column.is_ordered:
            parts.append(column.place(values)[:, None])
        else:
            parts.append((values[:, None] == np.arange(len(column.values))) / np.sqrt(2))
    return np.concatenate(parts, axis=1)
