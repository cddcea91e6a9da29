"""How like images are to others, by their features: all that is usually asked."""

from typing import NamedTuple

import numpy as np

from sliceflow.metrics.frechet import Statistics, frechet_distance, kernel_distance
from sliceflow.metrics.neighbours import precision_and_recall

MOST = 10_000
"""Rows whose neighbours are looked for: the time grows with their square."""


class Likeness(NamedTuple):
    """FID and KID, less is better; precision and recall, of 1."""

    fid: float
    kid: float
    precision: float
    recall: float


def likeness(
    samples: np.ndarray, data: np.ndarray, statistics: Statistics | None = None
) -> Likeness:
    """Return how like samples are to data, both as features (n, d).

    ``statistics`` are those of the data, if they are known already.
    """
    found = precision_and_recall(samples[:MOST], data[:MOST])
    return Likeness(
        frechet_distance(Statistics.of(samples), statistics or Statistics.of(data)),
        kernel_distance(samples, data),
        found.precision,
        found.recall,
    )
