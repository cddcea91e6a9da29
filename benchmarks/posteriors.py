"""Posteriors p(θ | x) from simulations, judged as in the simulation-based inference benchmark."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks._c2st import c2st
from benchmarks._rivals import sample_each
from benchmarks._simulators import OBSERVATIONS, TASKS, Task
from benchmarks.ledger import Figure
from sliceflow import SlicedFlow
from sliceflow.metrics import interval_coverage

SIMULATIONS = 10_000
SAMPLES = 10_000
SEED, HELD_OUT_SEED = 1, 2
"""Of the simulations that are reported, and of others. Settings are chosen with neither."""

HELD_OUT, SAMPLES_EACH = 1000, 50
"""The number of other simulations, and of samples given each, for the coverage of intervals."""

CHOSEN_ON = 3
"""Settings were chosen on this many first observations; the others are reported by themselves."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield, for each task, the mean C2ST over observations, and the seconds of the fit."""
    for task in TASKS:
        posterior = fitted(task, SIMULATIONS // shrink**2)
        yield from judged(task, posterior, shrink)
        yield coverage(task, posterior, HELD_OUT // shrink)


def judged(task: Task, posterior: "Posterior", shrink: int, name: str = "") -> Iterator[Figure]:
    """Yield the figures of a posterior, by samples for each observation.

    ``name`` becomes part of the names of figures.
    """
    m = SAMPLES // shrink**2
    observations = OBSERVATIONS if shrink == 1 else OBSERVATIONS[: CHOSEN_ON + 1]
    samples = [posterior.sample(m, task.observation(k), seed=k) for k in observations]
    scores = c2st([task.reference(k)[:m] for k in observations], samples)
    end = f"from {posterior.simulations:,} simulations: {task.name}"
    about = f"C2ST of posteriors, mean of {len(scores)} observations, {end}"
    yield Figure(f"posterior.{name}{task.name}", np.mean(scores), "", about)
    about = f"the same without those that settings were chosen on, {end}"
    yield Figure(f"posterior.{name}rest.{task.name}", np.mean(scores[CHOSEN_ON:]), "", about)
    about = f"seconds of a fit {end}"
    yield Figure(f"posterior.{name}seconds.{task.name}", posterior.seconds, "s", about)


def coverage(task: Task, posterior: "Posterior", k: int) -> Figure:
    """Return how many parameters of k other simulations are within their intervals."""
    theta, x = task.draw(HELD_OUT_SEED, k)
    samples = sample_each(posterior.flow, x[:, posterior.columns], SAMPLES_EACH)
    covered = 100 * interval_coverage(theta, samples, [0.9]).mean()
    end = f"from {posterior.simulations:,} simulations: {task.name}"
    about = f"parameters of {k:,} other simulations within 90 % intervals, {end}"
    return Figure(f"posterior.covered.{task.name}", covered, "%", about)


@dataclass
class Posterior:
    """A flow given x without its constant columns, to so many simulations, and its seconds."""

    flow: SlicedFlow
    columns: np.ndarray
    simulations: int
    seconds: float

    def sample(self, n: int, x: np.ndarray, seed: int) -> np.ndarray:
        """Return n samples of θ given an observation."""
        return self.flow.sample(n, y=x[self.columns], random_state=seed)


def fitted(task: Task, n: int, seed: int = SEED) -> Posterior:
    """Return the posterior by a flow to n simulations."""
    theta, x = task.draw(seed, n)
    columns = np.ptp(x, axis=0) > 0
    started = perf_counter()
    flow = SlicedFlow(random_state=0).fit(theta, x[:, columns])
    return Posterior(flow, columns, n, perf_counter() - started)
