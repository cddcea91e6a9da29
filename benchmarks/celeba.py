"""Faces from noise, 64×64."""

from collections.abc import Iterator

from benchmarks._images import unconditional
from benchmarks.ledger import Figure


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield figures of 10,000 samples, against the faces at hand."""
    settings = {"schedule": "standard", "batch_size": 10_000}
    yield from unconditional("celeba", "celeba64_10k", shrink, 10_000, flips=True, **settings)
