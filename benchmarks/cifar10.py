"""CIFAR-10 from noise: how good it gets in how many minutes, for each preset."""

from collections.abc import Iterator

from benchmarks._images import PART, unconditional
from benchmarks.ledger import Figure

SETTINGS = {"particles": 50_000, "flips": True, "batch_size": 20_000}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield figures with the data and its mirror images: of all samples for the best preset."""
    presets = {"quick": PART, "standard": PART, "best": None} if shrink == 1 else {"quick": PART}
    for preset, samples in presets.items():
        label = "cifar10" if preset == "best" else f"cifar10.{preset}"
        yield from unconditional(
            "cifar10", label, shrink, samples=samples, schedule=preset, **SETTINGS
        )
