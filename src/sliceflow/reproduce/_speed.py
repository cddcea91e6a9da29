"""Time of a step on this machine, compared to its matrix products and the exact engine."""

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter

import torch

from sliceflow.flow._engines import Exact
from sliceflow.flow._flow import Flow
from sliceflow.flow._spec import Spec
from sliceflow.flow._targets import ArrayTarget
from sliceflow.flow.schedules import Stage
from sliceflow.reproduce._figures import Figure

M, N = 10_000, 20_000
SIZES = {"mnist": (1, 28, 7), "cifar10": (3, 32, 5)}
"""Channels, side of the image, side of the patches, in pixels."""


def speeds(repeats: int = 5, m: int = M, n: int = N) -> Iterator[Figure]:
    """Yield the time of a step of m particles, and ratios: each the median of several runs."""
    for name, size in SIZES.items():
        step = fast_step(*size, m, n)
        step()
        took = 1000 * median(seconds(step) for _ in range(repeats))
        yield Figure(f"step.ms.{name}", took, "ms", f"a fast step, {name} size")
        bare = ratio(step, bare_products(*size, m, n), repeats)
        about = f"whole fast step / its three bare matrix products, {name} size"
        yield Figure(f"step.bare_ratio.{name}", bare, "", about)
        speedup = 1 / ratio(step, exact_step(*size, m, n), repeats)
        about = f"exact step, dense directions / fast step, {name} size"
        yield Figure(speedup_over("exact", name), speedup, "times", about)


def speedup_over(rival: str, name: str) -> str:
    """Return the name of a ratio in the ledger; that of CIFAR-10 has no suffix."""
    return f"step.speedup.{rival}" + ("" if name == "cifar10" else f".{name}")


def ratio(work: Callable[[], object], other: Callable[[], object], repeats: int) -> float:
    """Return the ratio of the times of two functions, both warmed up."""
    work()
    other()
    return median(seconds(work) / seconds(other) for _ in range(repeats))


def seconds(work: Callable[[], object]) -> float:
    """Return how long a function takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def fast_step(channels: int, k: int, patch: int, m: int = M, n: int = N) -> Callable[[], None]:
    """Return the step of a flow on noise."""
    target = ArrayTarget(torch.randn(channels * k * k, n))
    return one_step(Flow(Spec((channels, k, k), (Stage(10**6, k, patch),)), [target]), m)


def bare_products(channels: int, k: int, patch: int, m: int = M, n: int = N) -> Callable[[], None]:
    """Return the matrix products of a step, of contiguous tiles and into allocated memory."""
    tiles, p = (k // patch) ** 2, channels * patch**2
    theta = torch.linalg.qr(torch.randn(p, p)).Q.expand(tiles, p, p)
    data, particles = torch.randn(tiles, p, n), torch.randn(tiles, p, m)
    q, z, move = torch.empty_like(data), torch.empty_like(particles), torch.empty_like(particles)

    def products() -> None:
        torch.bmm(theta, data, out=q)
        torch.bmm(theta, particles, out=z)
        torch.bmm(theta.mT, z, out=move)

    return products


def exact_step(channels: int, k: int, patch: int, m: int = M, n: int = N) -> Callable[[], None]:
    """Return the exact step with equally many dense directions, as in the paper's code."""
    d, h = channels * k * k, channels * (k // patch * patch) ** 2
    spec = Spec((d,), (Stage(10**6),), engine=Exact(h))
    return one_step(Flow(spec, [ArrayTarget(torch.randn(d, n))]), m)


def one_step(flow: Flow, m: int) -> Callable[[], None]:
    """Return the next step of a flow with m particles, which can be called again and again."""
    state = flow.start(m)
    stage = flow.begin_stage(state)
    return lambda: flow.step(stage, state)
