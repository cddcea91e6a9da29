"""How strongly columns of any kind depend on each other, and which pairs most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sliceflow.tables._columns import GAP, Column
from sliceflow.tables._histograms import SHOWN

CELLS = 10
"""Number of cells of a column: deciles of numbers, or the most frequent words and the others."""

MAX_PAIRS, MAX_POINTS = 4, 1000
"""The number of pairs that are shown, and of points of each."""

JITTER = 0.35
"""Half the width of the strip in which points with the same value are spread."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two columns, and points of data and of samples, (n, 2) each, between 0 and 1."""

    names: tuple[str, str]
    data: np.ndarray
    samples: np.ndarray


def dependence(columns: Sequence[Column], rows: np.ndarray) -> np.ndarray:
    """Return Cramér's V, (d, d), of the cells of rows of codes, (n, d): from 0 to 1.

    It is corrected for the number of rows (Bergsma 2013).
    """
    cells = [_cells(column, rows[:, i]) for i, column in enumerate(columns)]
    table = np.eye(len(cells))
    for i, first in enumerate(cells):
        for j, second in enumerate(cells[:i]):
            table[i, j] = table[j, i] = _cramers_v(first, second)
    return table


def _cells(column: Column, codes: np.ndarray) -> np.ndarray:
    """Return the cell of each code, (n,); gaps have one of their own."""
    if column.is_ordered:
        edges = np.unique(np.quantile(codes, np.linspace(0, 1, CELLS + 1)[1:-1]))
        return np.where(codes == GAP, CELLS, np.searchsorted(edges, codes, "right"))
    counts = np.bincount(codes.astype(int) + 1, minlength=len(column.values) + 1)
    rank = np.argsort(np.argsort(-counts, kind="stable"))
    cells: np.ndarray = rank[codes.astype(int) + 1].clip(max=CELLS)
    return cells


def _cramers_v(first: np.ndarray, second: np.ndarray) -> float:
    n = len(first)
    counts = np.bincount(first * (CELLS + 1) + second, minlength=(CELLS + 1) ** 2)
    table = counts.reshape(CELLS + 1, CELLS + 1).astype(float)
    table = table[np.ix_(table.any(axis=1), table.any(axis=0))]
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
    phi = ((table - expected) ** 2 / expected).sum() / n
    r, c = (k - (k - 1) ** 2 / max(n - 1, 1) for k in table.shape)
    by_chance = (table.shape[0] - 1) * (table.shape[1] - 1) / max(n - 1, 1)
    most = min(r, c) - 1
    return float(np.sqrt(np.clip((phi - by_chance) / most, 0, 1))) if most > 0 else 0.0


def strongest(
    columns: Sequence[Column], dependence: np.ndarray, data: np.ndarray, samples: np.ndarray
) -> list[Pair]:
    """Return the pairs of columns that depend most on each other; each column is in two at most."""
    pairs: list[Pair] = []
    used = [0] * len(columns)
    n = min(len(data), len(samples), MAX_POINTS)
    i, j = np.triu_indices(len(columns), 1)
    for k in np.argsort(-dependence[i, j], kind="stable"):
        first, second = int(i[k]), int(j[k])
        if len(pairs) < MAX_PAIRS and max(used[first], used[second]) < 2:
            used[first], used[second] = used[first] + 1, used[second] + 1
            both = [_points(columns, (first, second), rows[:n], data) for rows in (data, samples)]
            pairs.append(Pair((columns[first].name, columns[second].name), *both))
    return pairs


def _points(
    columns: Sequence[Column], pair: tuple[int, int], rows: np.ndarray, data: np.ndarray
) -> np.ndarray:
    """Return the rows without gaps as points between 0 and 1."""
    rows = rows[(rows[:, pair] != GAP).all(axis=1)]
    rng = np.random.default_rng(0)
    return np.stack([_axis(columns[i], rows[:, i], data[:, i], rng) for i in pair], axis=1)


def _axis(
    column: Column, codes: np.ndarray, data: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return where codes are along an axis: numbers in proportion, few values in strips."""
    k = len(column.values)
    if column.is_ordered and k > CELLS:
        low, high = np.quantile(column.number(data), SHOWN)
        along: np.ndarray = ((column.number(codes) - low) / max(high - low, 1e-300)).clip(0, 1)
        return along
    strip: np.ndarray = codes + 0.5 + rng.uniform(-JITTER, JITTER, len(codes))
    return strip / k
