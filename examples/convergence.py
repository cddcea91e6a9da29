"""Does it converge? Two-dimensional shapes, from noise, against fresh data.

    python examples/convergence.py

Prints, for both engines, the sliced-Wasserstein distance between 5,000 samples of a flow and fresh
data, which the flow has not seen. `ratio` divides it by the distance between two fresh sets of that
size. Values are means over ten fresh sets and, for offline samples, over ten draws.

`nearest` is the median distance to the nearest row that the flow was fitted to, divided by that of
fresh data. If there are as many particles as rows, particles end on the rows themselves. So
`batched` (the particles of the fit) shows how exactly the flow arrives, and `offline` (new
particles) shows how well it samples.
"""

import time

import numpy as np
import torch

from sliceflow import Exact, Fast, SlicedFlow
from sliceflow.metrics import sliced_wasserstein

N = 5_000


def eight_gaussians(rng, n):
    """Return n points around eight centres on a circle."""
    angle = np.pi / 4 * rng.integers(8, size=n)
    return 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.1 * rng.normal(size=(n, 2))


def checkerboard(rng, n):
    """Return n points on the black squares of a 4×4 board."""
    column, row = rng.integers(4, size=n), rng.integers(2, size=n)
    corner = np.stack([column, 2 * row + column % 2], axis=1)
    return corner - 2 + rng.uniform(size=(n, 2))


def nearest(x, data):
    """Return the median distance of x to its nearest neighbour in the data."""
    return torch.cdist(*map(torch.from_numpy, (x, data))).min(dim=1).values.median().item()


def fit(engine, data):
    """Return draws of samples of each kind, and the seconds that fitting and drawing took."""
    started = time.perf_counter()
    model = SlicedFlow(schedule=200, engine=engine, random_state=0).fit(data)
    offline = [model.sample(N, random_state=seed) for seed in range(10)]
    return {"offline": offline, "batched": [model.particles_]}, time.perf_counter() - started


def main():
    """Fit both shapes with both engines and print the table."""
    columns = f"{'to fresh':>10}{'fresh':>9}{'ratio':>7}{'nearest':>9}{'seconds':>9}"
    print(f"{'shape':<17}{'engine':<8}{'samples':<9}{columns}")
    for shape in (eight_gaussians, checkerboard):
        rng = np.random.default_rng(0)
        data, fresh = shape(rng, N), [(shape(rng, N), shape(rng, N)) for _ in range(10)]
        between = np.mean([sliced_wasserstein(a, b) for a, b in fresh])
        fresh_nearest = nearest(fresh[0][0], data)
        for engine in (Fast(), Exact()):
            samples, seconds = fit(engine, data)
            for kind, draws in samples.items():
                distance = np.mean([sliced_wasserstein(x, a) for x in draws for a, _ in fresh])
                near = np.mean([nearest(x, data) for x in draws]) / fresh_nearest
                numbers = f"{distance:>10.4f}{between:>9.4f}{distance / between:>7.2f}{near:>9.2f}"
                name = type(engine).__name__.lower()
                print(f"{shape.__name__:<17}{name:<8}{kind:<9}{numbers}{seconds:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
