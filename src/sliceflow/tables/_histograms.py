"""Histograms of a column in two tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sliceflow.tables._columns import GAP, Column

MAX_BARS = 12
"""Maximum number of values that have a bar each; more words share the last bar."""

BINS = 24
"""Number of bars of other columns. The first and the last one also have what is beyond."""

SHOWN = (0.005, 0.995)
"""The quantiles between which values are shown."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often values occur in data and in samples.

    Parameters
    ----------
    name
        The name of the column.
    labels
        A label for each bar, or for both ends.
    shares
        The share of rows of each bar, in data and in samples, (2, bars).
    difference
        The largest difference of shares: the total variation of words, Kolmogorov and Smirnov's
        distance of numbers. At best 0.
    """

    name: str
    labels: Sequence[str]
    shares: np.ndarray
    difference: float

    @classmethod
    def of(cls, column: Column, data: np.ndarray, samples: np.ndarray) -> Self:
        """Return the histogram of codes of data, (n,), and of samples, (m,)."""
        both = data, samples
        labels, bars = _of_values(column, both) if _is_short(column) else _of_bins(column, both)
        if (data == GAP).any() or (samples == GAP).any():
            labels = [*labels, "gap"] if _is_short(column) else labels
        return cls(column.name, labels, _shares(bars), _difference(column, data, samples))


def _is_short(column: Column) -> bool:
    return len(column.values) <= MAX_BARS or not column.is_ordered


def _of_values(column: Column, both: tuple[np.ndarray, ...]) -> tuple[list[str], list[np.ndarray]]:
    """Return a label for each value, and the bar of each row; a gap is the last."""
    texts = [str(value) for value in column.decode(np.arange(len(column.values)))[0]]
    if len(texts) <= MAX_BARS:
        return texts, [np.where(codes == GAP, len(texts), codes).astype(int) for codes in both]
    counts = np.bincount(both[0][both[0] != GAP].astype(int), minlength=len(texts))
    first = np.argsort(-counts, kind="stable")[: MAX_BARS - 1]
    place = np.full(len(texts) + 1, MAX_BARS - 1)
    place[first], place[GAP] = np.arange(MAX_BARS - 1), MAX_BARS
    return [*(texts[i] for i in first), "others"], [place[codes.astype(int)] for codes in both]


def _of_bins(column: Column, both: tuple[np.ndarray, ...]) -> tuple[list[str], list[np.ndarray]]:
    """Return labels of both ends, and the bar of each row that has a value."""
    numbers = [column.number(codes[codes != GAP]) for codes in both]
    ends = np.quantile(numbers[0], SHOWN)
    edges = np.linspace(ends[0], ends[1], BINS + 1)[1:-1]
    nearest = np.abs(column.values.astype(float)[:, None] - ends).argmin(axis=0)
    labels = [str(value) for value in column.decode(nearest.astype(float))[0]]
    return labels, [np.searchsorted(edges, number) for number in numbers]


def _shares(bars: Sequence[np.ndarray]) -> np.ndarray:
    n = 1 + max(int(bar.max(initial=0)) for bar in bars)
    return np.stack([np.bincount(bar, minlength=n) / max(len(bar), 1) for bar in bars])


def _difference(column: Column, data: np.ndarray, samples: np.ndarray) -> float:
    """Return the largest difference of shares between two columns of codes."""
    codes = np.unique(np.concatenate([samples, data]))
    bars = [np.searchsorted(codes, values) for values in (data, samples)]
    apart = np.diff(_shares(bars), axis=0)[0]
    return float(np.abs(np.cumsum(apart)).max() if column.is_ordered else np.abs(apart).sum() / 2)
