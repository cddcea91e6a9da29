"""x = 2y + noise of deviation 1: the means and deviations of samples given y."""

from collections.abc import Iterator

import numpy as np

from benchmarks.ledger import Figure
from sliceflow import SlicedFlow

ROWS, SAMPLES = 5000, 10_000
SEEDS = range(5)
GIVEN = (-2.0, -1.0, 0.0, 1.0, 2.0)


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the figures that are farthest from right, over all seeds and given y."""
    found = [moments(seed) for seed in (SEEDS if shrink == 1 else SEEDS[:1])]
    errors, deviations = (np.concatenate(each) for each in zip(*found, strict=True))
    end = f"x = 2y + noise, at y = 0, ±1, ±2, {len(found)} seeds"
    yield Figure("line.mean_error", np.abs(errors).max(), "", f"largest error of a mean: {end}")
    for name, deviation in (("least", deviations.min()), ("largest", deviations.max())):
        about = f"{name} deviation, where 1 is right: {end}"
        yield Figure(f"line.deviation.{name}", deviation, "", about)


def moments(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of means, and the deviations, of samples at each given y."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=ROWS)
    x = (2 * y + rng.normal(size=ROWS))[:, None]
    model = SlicedFlow(random_state=seed).fit(x, y)
    samples = [model.sample(SAMPLES, y=at, random_state=seed) for at in GIVEN]
    errors = [each.mean() - 2 * at for each, at in zip(samples, GIVEN, strict=True)]
    return np.array(errors), np.array([each.std() for each in samples])
