"""Where the time of a fast step goes: timers around its parts, at MNIST size."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import perf_counter
from typing import Any
from unittest.mock import patch

import torch

from benchmarks.ledger import Figure
from sliceflow.directions import _tiles as tiles
from sliceflow.reproduce._speed import SIZES, M, N, fast_step
from sliceflow.transport import _histogram as histogram

STEPS = 10
PARTS = {
    "products": (tiles, "matmul", "matrix products"),
    "maps": (histogram, "move_rows", "locating, counting, composing tables, looking them up"),
    "project": (tiles.TileBlock, "project", "projecting, with products"),
    "lift": (tiles.TileBlock, "lift", "lifting, with products"),
}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield each part's share of what both threads have."""
    step, spent = fast_step(*SIZES["mnist"], M // shrink, N // shrink), dict.fromkeys(PARTS, 0.0)
    step()
    with ExitStack() as patches:
        for part, (owner, name, _) in PARTS.items():
            timer = timed(getattr(owner, name), spent, part)
            patches.enter_context(patch.object(owner, name, timer))
        start = perf_counter()
        for _ in range(STEPS * repeats):
            step()
        total = torch.get_num_threads() * (perf_counter() - start)
    spent["copies"] = spent.pop("project") + spent.pop("lift") - spent["products"]
    spent["rest"] = total - sum(spent.values())
    abouts = {part: about for part, (_, _, about) in PARTS.items()}
    abouts |= {"copies": "copies into tiles and back", "rest": "Python, and waiting for its lock"}
    for part, value in spent.items():
        about = f"share of a step at MNIST size: {abouts[part]}"
        yield Figure(f"profile.{part}", 100 * value / total, "%", about)


def timed(work: Callable[..., Any], spent: dict[str, float], part: str) -> Callable[..., Any]:
    """Return the same work, which also adds up its time."""

    def timed_work(*arguments: Any) -> Any:
        start = perf_counter()
        result = work(*arguments)
        spent[part] += perf_counter() - start
        return result

    return timed_work
