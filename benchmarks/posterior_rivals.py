"""Posteriors by our flow, sbi's NPE and treeffuser: same simulations, default settings."""

from collections.abc import Iterator

import numpy as np

from benchmarks._c2st import c2st
from benchmarks._rivals import drawn_by
from benchmarks._simulators import OBSERVATIONS, TASKS
from benchmarks.ledger import Figure
from benchmarks.posteriors import SAMPLES, SEED, SIMULATIONS

METHODS = ("sliceflow", "npe", "treeffuser")
CHOSEN = ("two_moons", "gaussian_mixture")


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the mean C2ST of each method, and its seconds."""
    n, m = SIMULATIONS // shrink**2, SAMPLES // shrink**2
    for task in (task for task in TASKS if task.name in CHOSEN):
        theta, x = task.draw(SEED, n)
        given = np.stack([task.observation(k) for k in OBSERVATIONS])
        reference = [task.reference(k)[:m] for k in OBSERVATIONS]
        for method in METHODS if shrink == 1 else METHODS[:1]:
            drawn = drawn_by(method, theta, x, given, m)
            name, end = f"{method}.{task.name}", f"{method}, {n:,} simulations: {task.name}"
            score = np.mean(c2st(reference, list(drawn.samples)))
            about = f"C2ST of posteriors, mean of {len(given)} observations, {end}"
            yield Figure(f"posterior.beside.{name}", score, "", about)
            about = f"seconds of the fit, {end}"
            yield Figure(f"posterior.beside.seconds.fit.{name}", drawn.fit_seconds, "s", about)
            about = f"seconds of {m:,} samples, {end}"
            seconds = drawn.sample_seconds / len(given)
            yield Figure(f"posterior.beside.seconds.sample.{name}", seconds, "s", about)
