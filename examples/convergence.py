"""Does it converge? Two-dimensional shapes, from noise, against fresh data.

    python examples/convergence.py

Prints the sliced-Wasserstein distance between the flow's particles and data it has not seen, and
between two sets of such data: nothing can be nearer than these are to each other. Means over ten
fresh sets.
"""

import time

import numpy as np

from sliceflow import SlicedFlow
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


def main():
    """Fit both shapes and print the table."""
    print(f"{'shape':<16}{'samples':<10}{'to fresh data':>14}{'fresh to fresh':>16}{'ratio':>8}")
    for shape in (eight_gaussians, checkerboard):
        rng = np.random.default_rng(0)
        started = time.perf_counter()
        model = SlicedFlow(schedule=200, random_state=0).fit(shape(rng, N))
        samples = {"batched": model.particles_, "offline": model.sample(N)}
        seconds = time.perf_counter() - started
        fresh = [(shape(rng, N), shape(rng, N)) for _ in range(10)]
        nearest = np.mean([sliced_wasserstein(a, b) for a, b in fresh])
        for kind, x in samples.items():
            distance = np.mean([sliced_wasserstein(x, a) for a, _ in fresh])
            row = f"{shape.__name__:<16}{kind:<10}{distance:>14.4f}{nearest:>16.4f}"
            print(f"{row}{distance / nearest:>8.2f}")
        print(f"{'':<16}{seconds:.0f} s for the fit and the offline samples")


if __name__ == "__main__":
    main()
