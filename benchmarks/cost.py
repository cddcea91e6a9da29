"""The cost model of docs/cost.md: its coefficients on this machine, and how well it predicts."""

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

import numpy as np
import scipy.optimize
import torch

from benchmarks.ledger import Figure
from sliceflow import ArrayTarget, Fast, Flow, Spec, Stage
from sliceflow.reproduce._speed import one_step, seconds


class Size(NamedTuple):
    """What the cost of a step depends on."""

    c: int
    k: int
    s: int
    m: int
    n: int
    b: int


FITTED = [
    Size(1, 28, 7, 10_000, 20_000, 512),
    Size(1, 28, 7, 10_000, 20_000, 2048),
    Size(1, 28, 7, 40_000, 5000, 512),
    Size(1, 28, 7, 5000, 40_000, 512),
    Size(1, 28, 3, 10_000, 20_000, 512),
    Size(1, 28, 14, 10_000, 20_000, 512),
    Size(1, 28, 3, 2000, 2000, 512),
    Size(3, 32, 5, 10_000, 20_000, 512),
    Size(3, 32, 3, 20_000, 10_000, 1024),
]
HELD_OUT = [
    Size(1, 28, 5, 20_000, 20_000, 512),
    Size(3, 32, 4, 10_000, 10_000, 512),
    Size(3, 16, 4, 30_000, 20_000, 1024),
    Size(1, 28, 7, 10_000, 10_000, 1024),
]
TERMS = {
    "product": ("ns", 1e9, "a floating-point operation of a matrix product"),
    "count": ("ns", 1e9, "a value projected and counted"),
    "move": ("ns", 1e9, "a value moved and lifted"),
    "cell": ("ns", 1e9, "a cell of a table"),
    "tile": ("us", 1e6, "a tile"),
}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield what each term costs, the worst prediction, and two predictions for large data."""
    fitted, held_out = (
        [s._replace(m=s.m // shrink, n=s.n // shrink) for s in sizes]
        for sizes in (FITTED, HELD_OUT)
    )
    rows, times = np.array([terms(s) for s in fitted]), [step_time(s, repeats) for s in fitted]
    weighted = rows / np.array(times)[:, None]  # relative errors count alike
    cost, _ = scipy.optimize.nnls(weighted, np.ones(len(times)))
    for (name, (unit, scale, about)), value in zip(TERMS.items(), cost, strict=True):
        yield Figure(f"cost.{name}", value * scale, unit, f"cost model: {about}")
    errors = [abs(terms(s) @ cost / step_time(s, repeats) - 1) for s in held_out]
    about = "cost model: largest relative error, at sizes it was not fitted to"
    yield Figure("cost.error", max(errors), "", about)
    large = Size(3, 32, 5, 10**6, 10**5, 512)
    about = "cost model: a step of 10⁶ particles of 3×32×32, patches of 5, batches of 100,000"
    yield Figure("cost.million", terms(large) @ cost, "s", about)


def terms(size: Size) -> np.ndarray:
    """Return how often each term of the model occurs in a step."""
    tiles, p = (size.k // size.s) ** 2, size.c * size.s**2
    h = tiles * p
    products = 2 * p * h * (size.n + 2 * size.m)
    return np.array([products, h * (size.n + size.m), h * size.m, h * size.b, tiles], dtype=float)


def step_time(size: Size, repeats: int) -> float:
    """Return the seconds of a step."""
    shape = (size.c, size.k, size.k)
    target = ArrayTarget(torch.randn(size.c * size.k**2, size.n))
    spec = Spec(shape, (Stage(10**6, size.k, size.s),), engine=Fast(size.b))
    step = one_step(Flow(spec, [target]), size.m)
    step()
    return median(seconds(step) for _ in range(3 * repeats))
