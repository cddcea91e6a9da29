"""A whole fast step against the matrix products it needs, and against what else there is.

Ratios depend on the CPU. Older ones, which cannot compute in bfloat16, have their own rows in the
ledger.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import ot
import torch

from benchmarks.ledger import Figure
from sliceflow.reproduce._speed import SIZES, M, N, fast_step, ratio, speeds, speedup_over


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield what `sliceflow bench` does, and the same for POT."""
    suffix, whose = ("", "") if has_bfloat16() else (".older", ", an older CPU")
    for figure in compared(repeats, shrink):
        yield replace(figure, name=figure.name + suffix, about=figure.about + whose)


def has_bfloat16() -> bool:
    """Return whether this CPU computes in bfloat16."""
    return "avx512_bf16" in Path("/proc/cpuinfo").read_text()


def compared(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the time of a fast step, and its ratios to others."""
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
