"""Posteriors p(θ | x) from simulations, judged as in the simulation-based inference benchmark."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neural_network import MLPClassifier

from benchmarks._simulators import OBSERVATIONS, TASKS, Task
from benchmarks.ledger import Figure
from sliceflow import SlicedFlow

SIMULATIONS = 10_000
SAMPLES = 10_000
SEED = 1
"""Of the simulations that are reported. Settings are chosen with others."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield, for each task, the mean C2ST over observations, and the seconds of the fit."""
    observations = OBSERVATIONS if shrink == 1 else OBSERVATIONS[:1]
    n, m = SIMULATIONS // shrink**2, SAMPLES // shrink**2
    for task in TASKS:
        posterior = fitted(task, n)
        scores = [score(posterior, task, number, m) for number in observations]
        about = f"C2ST of the posterior, mean of {len(scores)} observations, {n:,} simulations"
        yield Figure(f"posterior.{task.name}", np.mean(scores), "", f"{about}: {task.name}")
        about = f"seconds of the fit to {n:,} simulations: {task.name}"
        yield Figure(f"posterior.seconds.{task.name}", posterior.seconds, "s", about)


@dataclass
class Posterior:
    """A flow given x without its constant columns, and the seconds of its fit."""

    flow: SlicedFlow
    columns: np.ndarray
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
    return Posterior(flow, columns, perf_counter() - started)


def score(posterior: Posterior, task: Task, number: int, m: int) -> float:
    """Return the C2ST between m samples given an observation and the reference posterior."""
    samples = posterior.sample(m, task.observation(number), seed=number)
    return c2st(task.reference(number)[:m], samples)


def c2st(reference: np.ndarray, samples: np.ndarray) -> float:
    """Return how often a classifier tells samples from the reference: 0.5 is perfect.

    With the settings of the benchmark: standardised by the reference, five folds, two hidden layers
    of ten units for each dimension.
    """
    mean, deviation = reference.mean(axis=0), reference.std(axis=0)
    data = (np.concatenate([reference, samples]) - mean) / deviation
    is_sample = np.arange(len(data)) >= len(reference)
    width = 10 * reference.shape[1]
    classifier = MLPClassifier((width, width), max_iter=10_000, random_state=1)
    folds = KFold(5, shuffle=True, random_state=1)
    return float(np.mean(cross_val_score(classifier, data, is_sample, cv=folds, n_jobs=2)))
