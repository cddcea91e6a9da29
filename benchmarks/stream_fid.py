"""FID of fits to data in a file, read as it is needed, and in memory."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.ledger import Figure
from sliceflow import SlicedFlow
from sliceflow.data import load, stream
from sliceflow.reproduce._fits import PART, Judge

SEEDS = 3


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID where a stage sees all images, or part of them in memory or from a stream."""
    images = load("mnist")[: 60_000 // shrink**2]
    judge, m = Judge(images[: PART // shrink**2]), 2000 // shrink
    rows = 10_000 // shrink**2  # rows of a stream that a stage sees by default
    seeds = range(SEEDS if shrink == 1 else 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "images.npy")
        np.save(path, images.pixels)
        kinds = {
            "whole": (images.pixels, len(images), f"all {len(images):,} images, in memory"),
            "memory": (images.pixels, rows, f"{rows:,} of them, in memory"),
            "streamed": (stream(path), rows, f"{rows:,} of them, read from a file"),
        }
        for kind, (x, size, seen) in kinds.items():
            settings = {"schedule": "quick", "n_particles": m, "batch_size": size, "knots": None}
            fits = (SlicedFlow(**settings, random_state=seed).fit(x) for seed in seeds)
            fids = [judge.fid_of(fit.particles_) for fit in fits]
            about = f"FID, mnist, quick, {m:,} particles, {len(seeds)} seeds, a stage sees {seen}"
            yield Figure(f"stream_fid.{kind}", mean(fids), "", about)
            yield Figure(f"stream_fid.{kind}.range", max(fids) - min(fids), "", "their range")
