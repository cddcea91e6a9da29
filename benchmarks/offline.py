"""Saved models: samples that are drawn from them are as good as the particles of the fit."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.ledger import Figure
from sliceflow import Model, SlicedFlow, load
from sliceflow.data import Images
from sliceflow.data import load as load_images
from sliceflow.reproduce._fits import PART, Judge, fit

NAMES = ("mnist", "cifar10")
PARTICLES = 10_000


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID and spread of offline samples beside those of the fit's particles, and the size."""
    for name in NAMES if shrink == 1 else ["mnist"]:
        fitted, images, about = quick_fit(name, PARTICLES // shrink**2, shrink)
        with saved(fitted.model_) as path:
            megabytes, model = path.stat().st_size / 1e6, load(path)
        yield Figure(f"model_mb.{name}", megabytes, "MB", f"the file of a model, {about}")
        y = None if fitted.conditions_ is None else fitted.conditions_[:PART]
        batched = fitted.particles_[:PART]
        offline = model.sample(len(batched), y, random_state=1)
        yield from compared(name, batched, offline, images[: PART // shrink**2], about)


@contextmanager
def saved(model: Model) -> Iterator[Path]:
    """Save a model to a file that is there for a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.zip")
        model.save(path)
        yield path


def quick_fit(name: str, particles: int, shrink: int) -> tuple[SlicedFlow, Images, str]:
    """Return a fit that is recorded, the images, and what it is: digits are fitted by class."""
    images, labels = load_images(name)[: 60_000 // shrink**2], name == "mnist"
    fitted, _ = fit(
        images if labels else images.with_flips(),
        labels,
        knots=64,
        schedule="quick",
        n_particles=particles,
        batch_size=20_000,
    )
    return fitted, images, f"{name}{', by class' if labels else ''}, quick, {particles:,} particles"


def compared(
    name: str, batched: np.ndarray, offline: np.ndarray, images: Images, about: str
) -> Iterator[Figure]:
    """Yield FID of both to the images, and how far each is spread."""
    for kind, pixels in {"batched": batched, "offline": offline}.items():
        value = spread(pixels) / spread(images.pixels)
        what = f"spread of pixels, {kind} / data, {name}"
        yield Figure(f"spread.{kind}.{name}", value, "", what)
    fid, many = Judge(images).fid_of, f"{len(batched):,} samples to {len(images):,} images, {about}"
    theirs, ours = fid(batched), fid(offline)
    yield Figure(f"fid.batched.{name}", theirs, "", f"FID of the fit's particles, {many}")
    yield Figure(f"fid.offline.{name}", ours, "", f"FID of offline samples, {many}")
    yield Figure(f"offline_ratio.{name}", ours / theirs, "", f"offline / the fit's own, {name}")


def spread(pixels: np.ndarray) -> float:
    """Return the root mean square distance to the mean image."""
    return float(np.var(pixels, axis=0, dtype=np.float64).mean() ** 0.5)
