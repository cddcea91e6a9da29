"""p(price | the other columns) of diamonds, beside other methods with their default settings.

All see the same rows and columns.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks._diamonds import diamonds
from benchmarks._rivals import Drawn, drawn_by
from benchmarks.ledger import Figure
from sliceflow.metrics import crps, interval_coverage

HELD_OUT, SAMPLES = 1000, 50
"""The number of held-out rows, and of samples for each."""

SEED = 1
"""Of the order of rows. Settings are chosen with others."""

METHODS = ("sliceflow", "lightgbm", "ngboost", "treeffuser")


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the CRPS, the coverage of 90 % intervals, and the seconds of each method."""
    x, y = diamonds(SEED)
    held_out, last = HELD_OUT // shrink, len(x) // shrink
    truth, given = x[:held_out], y[:held_out]
    for name in METHODS if shrink == 1 else METHODS[:1]:
        drawn = drawn_by(name, x[held_out:last], y[held_out:last], given, SAMPLES)
        yield from figures(name, truth, drawn)


def figures(name: str, truth: np.ndarray, drawn: Drawn) -> Iterator[Figure]:
    """Yield how good the samples of a method are, and how long they took."""
    n, m, _ = drawn.samples.shape
    about = f"p(price | diamond): CRPS on {n:,} held-out rows, {name}"
    yield Figure(f"prediction.crps.{name}", crps(truth, drawn.samples)[0], "dollars", about)
    covered = interval_coverage(truth, drawn.samples, [0.9])[0, 0]
    about = f"p(price | diamond): held-out rows within 90 % intervals, {name}"
    yield Figure(f"prediction.covered.{name}", 100 * covered, "%", about)
    about = f"p(price | diamond): seconds of the fit, {name}"
    yield Figure(f"prediction.seconds.fit.{name}", drawn.fit_seconds, "s", about)
    about = f"p(price | diamond): seconds of {n * m:,} samples, {name}"
    yield Figure(f"prediction.seconds.sample.{name}", drawn.sample_seconds, "s", about)
