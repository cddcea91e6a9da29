"""Whether samples of a fitted model cover its rows as often as they say, for the report."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from sliceflow.metrics import calibration_ranks, interval_coverage
from sliceflow.model import Model

MAX_ROWS, SAMPLES = 300, 99
"""The number of rows that are compared with samples, and of samples for each."""

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of the samples that are within the intervals."""

BINS = 10
"""Number of bars of a histogram of ranks."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """How rows compare with samples for their y.

    Parameters
    ----------
    rows
        The number of rows.
    covered
        For each column, the share of rows within the interval of each level, (d, levels).
    ranks
        For each column, how many rows have ranks in each bin, (d, bins).
    """

    rows: int
    covered: np.ndarray
    ranks: np.ndarray

    @classmethod
    def of(cls, model: Model, x: np.ndarray, y: np.ndarray) -> Self | None:
        """Compare some rows with samples for their y; None unless it is a table given numbers."""
        if x.ndim != 2 or model.codec.classes is not None:
            return None
        chosen = np.random.default_rng(0).permutation(len(x))[:MAX_ROWS]
        given, rows = np.repeat(y[chosen], SAMPLES, axis=0), x[chosen]
        drawn = model.sample(len(given), given, model.spec.seed, output="numpy")
        samples = drawn.reshape(len(rows), SAMPLES, -1)
        edges = np.linspace(0, SAMPLES + 1, BINS + 1)
        ranks = [np.histogram(column, edges)[0] for column in calibration_ranks(rows, samples).T]
        return cls(len(rows), interval_coverage(rows, samples, LEVELS).T, np.stack(ranks))
