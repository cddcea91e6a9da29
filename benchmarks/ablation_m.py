"""The paper's ablation of M, the number of particles."""

from collections.abc import Iterator

from benchmarks._ablations import figure, flow, pyramidal
from benchmarks.ledger import Figure


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID as M grows."""
    for m in (500, 1000, 2000) if shrink == 1 else (500,):
        yield figure(f"m.{m}", f"M = {m}", *flow(shrink, pyramidal(shrink), m=m), shrink)
