"""A whole fast step against the matrix products it needs, and against what else there is."""

from collections.abc import Callable, Iterator

import ot
import torch

from benchmarks.ledger import Figure
from sliceflow.reproduce._speed import SIZES, M, N, fast_step, ratio, speeds, speedup_over


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield what `sliceflow bench` does, and the same for POT."""
    m, n = M // shrink, N // shrink
    yield from speeds(repeats, m, n)
    for name, size in SIZES.items():
        speedup = 1 / ratio(fast_step(*size, m, n), pot(*size, m, n), repeats)
        about = f"step by POT and autograd / fast step, {name} size"
        yield Figure(speedup_over("pot", name), speedup, "times", about)


def pot(channels: int, k: int, patch: int, m: int = M, n: int = N) -> Callable[[], None]:
    """Return a gradient step on POT's sliced distance by autograd, as its gallery does it."""
    d, h = channels * k * k, channels * (k // patch * patch) ** 2
    data, x = torch.randn(n, d), torch.randn(m, d, requires_grad=True)

    def step() -> None:
        distance = ot.sliced_wasserstein_distance(x, data, n_projections=h, seed=0)
        (gradient,) = torch.autograd.grad(distance, x)
        with torch.no_grad():
            x.sub_(gradient)

    return step
