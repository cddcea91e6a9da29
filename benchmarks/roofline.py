"""How fast a fast step could be at best: if only its products took time, or only its memory."""

from collections.abc import Iterator
from statistics import median

import torch

from benchmarks.ledger import Figure
from sliceflow.reproduce._speed import SIZES, M, N, bare_products, fast_step, seconds

FLOATS = 2**26
"""Size of an array that no cache can hold."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the speed of memory and of products, and how long a step would take at that speed."""
    source, copy = torch.zeros(2, FLOATS // shrink)
    # a copy reads both arrays and writes one: a line of memory is read before it is written
    memory = 12 * len(source) / median(seconds(lambda: copy.copy_(source)) for _ in range(repeats))
    yield Figure("roofline.memory", memory / 1e9, "GB/s", "memory, read and written by a copy")
    m, n = M // shrink, N // shrink
    for name, (channels, k, patch) in SIZES.items():
        h, p = channels * (k // patch * patch) ** 2, channels * patch**2
        products, step = (work(channels, k, patch, m, n) for work in (bare_products, fast_step))
        products()
        step()
        times = [(seconds(products), seconds(step)) for _ in range(repeats)]
        alone, whole = (median(time) for time in zip(*times, strict=True))
        speed = 2 * p * h * (n + 2 * m) / alone
        about = f"bare matrix products of tiles, {name} size"
        yield Figure(f"roofline.products.{name}", speed / 1e9, "GFLOP/s", about)
        about = f"share of a whole step that its products alone take, {name} size"
        yield Figure(f"roofline.products.{name}.share", 100 * alone / whole, "%", about)
        # data is read; particles are read, and for their move read and written
        moved = h * (4 * n + 12 * m) / memory
        about = f"share that data and particles take to come and go, {name} size"
        yield Figure(f"roofline.memory.{name}.share", 100 * moved / whole, "%", about)
