"""All usual metrics of images at once, from their features."""

from typing import NamedTuple

import numpy as np

from sliceflow.metrics._frechet import Statistics, frechet_distance, kernel_distance
from sliceflow.metrics._neighbours import precision_and_recall

MAX_ROWS = 10_000
"""Maximum number of rows for precision and recall: the time grows with its square."""


class Likeness(NamedTuple):
    """FID and KID (lower is better), precision and recall (at most 1, higher is better)."""

    fid: float
    kid: float
    precision: float
    recall: float


def likeness(
    samples: np.ndarray, data: np.ndarray, statistics: Statistics | None = None
) -> Likeness:
    """Return metrics of samples against data, both given as features (n, d).

    ``statistics`` are those of the data, if they are already known.
    """
    found = precision_and_recall(samples[:MAX_ROWS], data[:MAX_ROWS])
    return Likeness(
        frechet_distance(Statistics.of(samples), statistics or Statistics.of(data)),
        kernel_distance(samples, data),
        found.precision,
        found.recall,
    )
