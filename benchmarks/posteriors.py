"""Posteriors p(θ | x) from simulations, judged as in the simulation-based inference benchmark."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks._c2st import c2st
from benchmarks._simulators import OBSERVATIONS, TASKS, Task
from benchmarks.ledger import Figure
from sliceflow import SlicedFlow
from sliceflow.metrics import interval_coverage

SIMULATIONS = {10_000: "", 1_000: "1000.", 100_000: "100000."}
"""Numbers of simulations, and how they are part of a figure's name."""

SAMPLES = 10_000
SEED, HELD_OUT_SEED = 1, 2
"""Of the simulations that are reported, and of others. Settings are chosen with neither."""

HELD_OUT, SAMPLES_EACH = 1000, 50
"""The number of other simulations, and of samples given each, for the coverage of intervals."""

CHOSEN_ON = 3
"""Settings were chosen on this many first observations; the others are reported by themselves."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield, for each task, the mean C2ST over observations, and the seconds of the fit."""
    observations = OBSERVATIONS if shrink == 1 else OBSERVATIONS[: CHOSEN_ON + 1]
    m = SAMPLES // shrink**2
    for n, name in SIMULATIONS.items():
        for task in TASKS:
            yield from judged(task, n // shrink**2, m, list(observations), name)


def judged(task: Task, n: int, m: int, observations: list[int], name: str) -> Iterator[Figure]:
    """Yield the figures of a task: m samples for each observation, from n simulations."""
    posterior = fitted(task, n)
    samples = [posterior.sample(m, task.observation(k), seed=k) for k in observations]
    scores = c2st([task.reference(k)[:m] for k in observations], samples)
    end = f"from {n:,} simulations: {task.name}"
    about = f"C2ST of posteriors, mean of {len(scores)} observations, {end}"
    yield Figure(f"posterior.{name}{task.name}", np.mean(scores), "", about)
    about = f"the same without those that settings were chosen on, {end}"
    yield Figure(f"posterior.{name}rest.{task.name}", np.mean(scores[CHOSEN_ON:]), "", about)
    about = f"seconds of a fit {end}"
    yield Figure(f"posterior.{name}seconds.{task.name}", posterior.seconds, "s", about)
    if not name:
        theta, x = task.draw(HELD_OUT_SEED, HELD_OUT)
        samples = posterior.sample_each(SAMPLES_EACH, x, seed=0)
        covered = 100 * interval_coverage(theta, samples, [0.9]).mean()
        about = f"parameters of {HELD_OUT:,} other simulations within 90 % intervals, {end}"
        yield Figure(f"posterior.covered.{task.name}", covered, "%", about)


@dataclass
class Posterior:
    """A flow given x without its constant columns, and the seconds of its fit."""

    flow: SlicedFlow
    columns: np.ndarray
    seconds: float

    def sample(self, n: int, x: np.ndarray, seed: int) -> np.ndarray:
        """Return n samples of θ given an observation."""
        return self.flow.sample(n, y=x[self.columns], random_state=seed)

    def sample_each(self, n: int, x: np.ndarray, seed: int) -> np.ndarray:
        """Return n samples of θ given each row of x, (k, l): (k, n, d)."""
        given = np.repeat(x[:, self.columns], n, axis=0)
        samples = self.flow.sample(len(given), y=given, random_state=seed)
        return samples.reshape(len(x), n, -1)


def fitted(task: Task, n: int, seed: int = SEED) -> Posterior:
    """Return the posterior by a flow to n simulations."""
    theta, x = task.draw(seed, n)
    columns = np.ptp(x, axis=0) > 0
    started = perf_counter()
    flow = SlicedFlow(random_state=0).fit(theta, x[:, columns])
    return Posterior(flow, columns, perf_counter() - started)
