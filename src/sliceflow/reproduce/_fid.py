"""Unconditional images: their quality, and the minutes it takes (the paper's table of FID)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sliceflow.reproduce._figures import Figure
from sliceflow.reproduce._fits import PART, unconditional

SETTINGS: dict[str, Any] = {"schedule": "best", "batch_size": 20_000}


def digits(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield metrics of 10,000 samples of MNIST and of Fashion-MNIST."""
    yield from unconditional("mnist", "mnist", out, shrink, 10_000, **SETTINGS)
    yield from unconditional("fashion-mnist", "fashion", out, shrink, 10_000, **SETTINGS)


def cifar10(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield metrics of the preset `best` on CIFAR-10, using all samples."""
    yield from unconditional(
        "cifar10", "cifar10", out, shrink, 50_000, None, flips=True, **SETTINGS
    )


def cifar10_presets(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield metrics of the shorter presets on CIFAR-10, using the first samples."""
    for preset in ("quick", "standard") if shrink == 1 else ("quick",):
        settings = SETTINGS | {"schedule": preset}
        yield from unconditional(
            "cifar10", f"cifar10.{preset}", out, shrink, 50_000, PART, flips=True, **settings
        )


def celeba(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield metrics of 10,000 samples of faces, against those in the data folder."""
    settings: dict[str, Any] = {"schedule": "standard", "batch_size": 10_000}
    yield from unconditional("celeba", "celeba64_10k", out, shrink, 10_000, flips=True, **settings)


def table(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield the metrics of all data sets."""
    for part in (digits, cifar10, cifar10_presets, celeba):
        yield from part(out, shrink)
