"""The paper's ablation of H, the number of directions of a step."""

from collections.abc import Iterator

from benchmarks._ablations import figure, flow, pyramidal
from benchmarks.ledger import Figure


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID as H grows."""
    for h in (50, 150, 500) if shrink == 1 else (50,):
        yield figure(f"h.{h}", f"H = {h}", *flow(shrink, pyramidal(shrink), h=h), shrink)
