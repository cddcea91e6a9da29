"""MNIST and Fashion-MNIST from noise: how good it gets."""

from collections.abc import Iterator

from benchmarks._images import unconditional
from benchmarks.ledger import Figure

SETTINGS = {"schedule": "best", "batch_size": 20_000}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield figures of 10,000 samples each."""
    yield from unconditional("mnist", "mnist", shrink, 10_000, **SETTINGS)
    yield from unconditional("fashion-mnist", "fashion", shrink, 10_000, **SETTINGS)
