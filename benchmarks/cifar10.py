"""CIFAR-10 from noise: how good it gets in how many minutes, for each preset."""

from collections.abc import Iterator

from benchmarks._images import unconditional
from benchmarks.ledger import Figure

PRESETS = {"quick": "cifar10.quick", "standard": "cifar10.standard", "best": "cifar10"}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield figures of 50,000 samples, with the data and its mirror images."""
    for preset, label in PRESETS.items() if shrink == 1 else [("quick", "cifar10.quick")]:
        settings = {"schedule": preset, "batch_size": 20_000}
        yield from unconditional("cifar10", label, shrink, 50_000, flips=True, **settings)
