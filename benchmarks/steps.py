"""A whole fast step against the matrix products it needs, and against what else there is."""

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter

import ot
import torch

from benchmarks.ledger import Figure
from sliceflow import ArrayTarget, Exact, Flow, Stage, Unconditional

M, N = 10_000, 20_000
SIZES = {"mnist": (1, 28, 7), "cifar10": (3, 32, 5)}
"""Channels, side of the image, side of the patches."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the ratios, each the median over so many runs of both, one after the other."""
    m, n = M // shrink, N // shrink
    for name, size in SIZES.items():
        step = fast_step(*size, m, n)
        about = f"whole fast step / its three bare matrix products, {name} size"
        bare = ratio(step, bare_products(*size, m, n), repeats)
        yield Figure(f"step.bare_ratio.{name}", bare, "", about)
        for rival, about in RIVALS.items():
            about = f"{about} / fast step, {name} size"
            speedup = 1 / ratio(step, rival(*size, m, n), repeats)
            suffix = "" if name == "cifar10" else f".{name}"
            yield Figure(f"step.speedup.{rival.__name__}{suffix}", speedup, "times", about)


def ratio(work: Callable[[], object], other: Callable[[], object], repeats: int) -> float:
    """Return the time of one work over that of another, both warm."""
    work()
    other()
    return median(seconds(work) / seconds(other) for _ in range(repeats))


def seconds(work: Callable[[], object]) -> float:
    """Return how long it takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def fast_step(channels: int, k: int, patch: int, m: int = M, n: int = N) -> Callable[[], None]:
    """Return the step of a flow on noise."""
    target = ArrayTarget(torch.randn(channels * k * k, n))
    flow = Flow(target, Unconditional(), (channels, k, k), (Stage(10**6, k, patch),))
    state = flow.start(m)
    return lambda: flow.step(state)


def bare_products(channels: int, k: int, patch: int, m: int = M, n: int = N) -> Callable[[], None]:
    """Return the products alone, of contiguous tiles, into memory that is there already."""
    tiles, p = (k // patch) ** 2, channels * patch**2
    theta = torch.linalg.qr(torch.randn(p, p)).Q.expand(tiles, p, p)
    data, particles = torch.randn(tiles, p, n), torch.randn(tiles, p, m)
    q, z, move = torch.empty_like(data), torch.empty_like(particles), torch.empty_like(particles)

    def products() -> None:
        torch.bmm(theta, data, out=q)
        torch.bmm(theta, particles, out=z)
        torch.bmm(theta.mT, z, out=move)

    return products


def exact(channels: int, k: int, patch: int, m: int = M, n: int = N) -> Callable[[], None]:
    """Return the exact step with as many dense directions, as the paper's code has them."""
    d, h = channels * k * k, channels * (k // patch * patch) ** 2
    flow = Flow(ArrayTarget(torch.randn(d, n)), Unconditional(), (d,), (Stage(10**6),), Exact(h))
    state = flow.start(m)
    return lambda: flow.step(state)


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


RIVALS = {exact: "exact step, dense directions", pot: "step by POT and autograd"}
