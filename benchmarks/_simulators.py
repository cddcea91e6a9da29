"""Simulators of the simulation-based inference benchmark, with its reference posteriors.

The tasks are those of Lueckmann et al., "Benchmarking simulation-based inference" (AISTATS 2021),
written anew in NumPy. Observations and reference posteriors come from its package, `sbibm`, whose
code is not run: it needs old versions of other packages.
"""

import bz2
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from zipfile import ZipFile

import numpy as np

from benchmarks._packages import archive

Rng = np.random.Generator
OBSERVATIONS = range(1, 11)


@dataclass(frozen=True)
class Task:
    """p(θ), a simulator of p(x | θ), and the name of its folder in the package.

    ``prior`` draws n parameters, (n, d); ``simulate`` draws one x for each of them, (n, l).
    """

    name: str
    prior: Callable[[Rng, int], np.ndarray]
    simulate: Callable[[Rng, np.ndarray], np.ndarray]
    folder: str = ""
    file: str = "observation.csv"

    def draw(self, seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw n parameters from the prior, and x for each."""
        rng = np.random.default_rng(seed)
        theta = self.prior(rng, n)
        return theta, self.simulate(rng, theta)

    def observation(self, number: int) -> np.ndarray:
        """Return the x that is observed, (l,)."""
        return _table(self._read(number, self.file))[0]

    def reference(self, number: int) -> np.ndarray:
        """Return 10,000 samples of the posterior given this observation, (10000, d)."""
        return _table(bz2.decompress(self._read(number, "reference_posterior_samples.csv.bz2")))

    def _read(self, number: int, name: str) -> bytes:
        return _stored(f"{self.folder or self.name}/files/num_observation_{number}/{name}")


def _stored(name: str) -> bytes:
    """Return a file of the benchmark's package."""
    with ZipFile(archive("sbibm", "1.1.0")) as parts:
        return parts.read(f"sbibm/tasks/{name}")


def _table(text: bytes) -> np.ndarray:
    """Return a CSV file with one line of names."""
    return np.loadtxt(io.BytesIO(text), delimiter=",", skiprows=1, ndmin=2)


def uniform(bound: float, d: int) -> Callable[[Rng, int], np.ndarray]:
    """Return a prior that is uniform between ±bound in d dimensions."""
    return lambda rng, n: rng.uniform(-bound, bound, size=(n, d))


def two_moons(rng: Rng, theta: np.ndarray) -> np.ndarray:
    """Return points of half a circle, moved by θ; ±(θ₁ + θ₂) look the same."""
    angle = rng.uniform(-np.pi / 2, np.pi / 2, size=len(theta))
    radius = rng.normal(0.1, 0.01, size=len(theta))
    moon = np.stack([radius * np.cos(angle) + 0.25, radius * np.sin(angle)], axis=1)
    total, difference = theta.sum(axis=1), theta[:, 1] - theta[:, 0]
    return moon + np.stack([-np.abs(total), difference], axis=1) / np.sqrt(2)


def gaussian(rng: Rng, theta: np.ndarray) -> np.ndarray:
    """Return θ and noise of variance 0.1."""
    return theta + np.sqrt(0.1) * rng.normal(size=theta.shape)


def mixture(rng: Rng, theta: np.ndarray) -> np.ndarray:
    """Return θ and noise of deviation 1 or, as often, 0.1."""
    deviation = rng.choice([1.0, 0.1], size=(len(theta), 1))
    return theta + deviation * rng.normal(size=theta.shape)


def slcp(rng: Rng, theta: np.ndarray) -> np.ndarray:
    """Return four points of a Gaussian in the plane, whose mean and covariance are θ: (n, 8)."""
    first, second, rho = theta[:, 2] ** 2, theta[:, 3] ** 2, np.tanh(theta[:, 4])
    noise = rng.normal(size=(len(theta), 4, 2))
    along = rho[:, None] * noise[:, :, 0] + np.sqrt(1 - rho**2)[:, None] * noise[:, :, 1]
    x = theta[:, None, :2] + np.stack([first[:, None] * noise[:, :, 0], second[:, None] * along], 2)
    return x.reshape(len(theta), 8)


def distracted(rng: Rng, theta: np.ndarray) -> np.ndarray:
    """Return the four points among 92 columns that say nothing of θ, in a mixed order: (n, 100)."""
    location, factor = distractors()
    component = rng.integers(len(location), size=len(theta))
    noise = rng.normal(size=(len(theta), 92)) / np.sqrt(rng.chisquare(2, size=(len(theta), 1)) / 2)
    for k in range(len(location)):
        noise[component == k] = location[k] + noise[component == k] @ factor[k].T
    return np.concatenate([slcp(rng, theta), noise], axis=1)[:, order()]


@cache
def distractors() -> tuple[np.ndarray, np.ndarray]:
    """Return 20 places, (20, 92), and the factors of scales there, (20, 92, 92)."""
    rng = np.random.RandomState(42)  # NumPy keeps this stream
    location = 15 * rng.normal(size=(20, 92))
    factor = [
        np.tril(rng.normal(size=(92, 92))) + np.diag(np.exp(rng.normal(size=92))) for _ in range(20)
    ]
    return location, 3 * np.stack(factor)


@cache
def order() -> np.ndarray:
    """Return the order of columns, which is at the end of a file of PyTorch."""
    return np.frombuffer(_stored("slcp/files/permutation_idx.torch")[-800:], dtype="<i8")


def spikes(rng: Rng, theta: np.ndarray) -> np.ndarray:
    """Return which of 100 moments have a spike: their log-odds are linear in the filter θ."""
    return (rng.uniform(size=(len(theta), 100)) < 1 / (1 + np.exp(-theta @ design().T))) * 1.0


def spike_counts(rng: Rng, theta: np.ndarray) -> np.ndarray:
    """Return the number of spikes, and the sums of the stimulus at nine lags before them."""
    return spikes(rng, theta) @ design()


def filters(rng: Rng, n: int) -> np.ndarray:
    """Draw filters of nine lags that are smooth, with an offset before them."""
    lags = np.arange(9)
    difference = np.eye(9) - np.eye(9, k=-1)
    smooth = difference @ difference + np.diag(np.sqrt(lags / 9))
    precision = np.zeros((10, 10))
    precision[0, 0], precision[1:, 1:] = 0.5, smooth.T @ smooth
    return rng.multivariate_normal(np.zeros(10), np.linalg.inv(precision), size=n)


@cache
def design() -> np.ndarray:
    """Return ones, and the stimulus at nine lags, for 100 moments: (100, 10)."""
    stimulus = np.random.RandomState(42).randn(100).astype(np.float32)  # NumPy keeps this stream
    lagged = [np.concatenate([np.zeros(lag), stimulus[: 100 - lag]]) for lag in range(9)]
    return np.stack([np.ones(100), *lagged], axis=1)


def contagion(rng: Rng, n: int) -> np.ndarray:
    """Draw rates of contact and of recovery."""
    return np.exp(rng.normal([np.log(0.4), np.log(0.125)], [0.5, 0.2], size=(n, 2)))


def epidemic(rng: Rng, theta: np.ndarray) -> np.ndarray:
    """Return how many of 1,000 people tested are infected, every 17 days: the SIR model."""
    people, a_day = 1e6, 10
    state = np.tile([people - 1, 1.0], (len(theta), 1))  # susceptible, infected
    infected = [state[:, 1]]
    for _ in range(9):
        for _ in range(17 * a_day):
            state = runge_kutta(state, theta, 1 / a_day, people)
        infected.append(state[:, 1])
    share = np.clip(np.stack(infected, axis=1) / people, 0, 1)
    return rng.binomial(1000, share).astype(float)


def runge_kutta(u: np.ndarray, theta: np.ndarray, h: float, people: float) -> np.ndarray:
    """Do one step of the fourth order, for all parameters at once."""

    def slope(u: np.ndarray) -> np.ndarray:
        new = theta[:, 0] * u[:, 0] * u[:, 1] / people
        return np.stack([-new, new - theta[:, 1] * u[:, 1]], axis=1)

    first = slope(u)
    second = slope(u + h / 2 * first)
    third = slope(u + h / 2 * second)
    fourth = slope(u + h * third)
    return u + h / 6 * (first + 2 * second + 2 * third + fourth)


TASKS = [
    Task("two_moons", uniform(1, 2), two_moons),
    Task("gaussian_linear", lambda rng, n: np.sqrt(0.1) * rng.normal(size=(n, 10)), gaussian),
    Task("gaussian_linear_uniform", uniform(1, 10), gaussian),
    Task("gaussian_mixture", uniform(10, 2), mixture),
    Task("slcp", uniform(3, 5), slcp),
    Task("slcp_distractors", uniform(3, 5), distracted, "slcp", "observation_distractors.csv"),
    Task("bernoulli_glm", filters, spike_counts),
    Task("bernoulli_glm_raw", filters, spikes, "bernoulli_glm", "observation_raw.csv"),
    Task("sir", contagion, epidemic),
]
