"""What reproductions share: timed fits, their metrics, and pictures."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sliceflow.core._memory import peak_memory, reset_peak
from sliceflow.data import Images, data_folder, load
from sliceflow.estimator import SlicedFlow
from sliceflow.metrics import (
    Inception,
    Likeness,
    Statistics,
    detail_correlation,
    frechet_distance,
    likeness,
    nearest,
    reference_features,
)
from sliceflow.metrics._inception import fastest
from sliceflow.reproduce._figures import Figure
from sliceflow.viz import draw, grid, neighbours, save_picture

FEATURES = data_folder() / "features"

PART = 10_000
"""Number of samples used where metrics of all samples would take too long."""


@dataclass(frozen=True)
class Cost:
    """Time of a fit, and peak memory of the process."""

    minutes: float
    gib: float

    def __str__(self) -> str:
        return f"{self.minutes:.1f} min and {self.gib:.1f} GiB"


def fit(
    images: Images, labels: bool = False, knots: int | None = None, **settings: Any
) -> tuple[SlicedFlow, Cost]:
    """Fit a flow with seed 0; return it and its cost. By default no model is recorded."""
    reset_peak()
    started = perf_counter()
    model = SlicedFlow(random_state=0, knots=knots, **settings)
    model.fit(images.pixels, images.labels if labels else None, verbose=True)
    return model, Cost((perf_counter() - started) / 60, peak_memory() / 2**30)


def save(table: np.ndarray, out: Path, name: str, zoom: int = 2) -> None:
    """Save a picture in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    save_picture(draw(table, zoom), out / f"{name.replace('.', '-')}.png")


@cache
def inception() -> Inception:
    """Return the network, compiled once."""
    return fastest()


class Judge:
    """Metrics against given images, whose statistics are computed once."""

    def __init__(self, images: Images) -> None:
        self.real = reference_features(images.pixels, inception(), FEATURES, progress=True)
        self._statistics = Statistics.of(self.real)

    def fid(self, features: np.ndarray) -> float:
        """Return the FID of images, given their features."""
        return frechet_distance(Statistics.of(features), self._statistics)

    def likeness(self, features: np.ndarray) -> Likeness:
        """Return all metrics of images, given their features."""
        return likeness(features, self.real, self._statistics)

    def fid_of(self, pixels: np.ndarray) -> float:
        """Return the FID of images of bytes."""
        return self.fid(inception()(pixels))


def judged(samples: np.ndarray, images: Images, name: str, about: str) -> Iterator[Figure]:
    """Yield metrics of samples against their training data, from Inception features."""
    judge, ours = Judge(images), inception()(samples[:PART], progress=True)
    if len(samples) > PART:
        part = judge.fid(ours)
        yield Figure(f"fid.{name}.part", part, "", f"FID, the first {PART:,} of {about}")
        ours = np.concatenate([ours, inception()(samples[PART:], progress=True)])
    for kind, value in judge.likeness(ours)._asdict().items():
        title = kind.upper() if kind in ("fid", "kid") else kind
        yield Figure(f"{kind}.{name}", value, "", f"{title}, {about}")


def copying(
    samples: np.ndarray, images: Images, test: Images | None, out: Path, name: str, shrink: int
) -> Iterator[Figure]:
    """Yield how near samples and test images are to the images that the fit saw: medians.

    Given are the distance, and the correlation of detail, which brightness and contrast leave.
    """
    n, size = 1000 // shrink, np.prod(images.shape) ** 0.5
    _, number = nearest(samples[:10], images.pixels, k=5)
    save(neighbours(samples[:10], images.pixels[number]), out, f"{name}-neighbours")
    compared = [("", "samples", samples)]
    if test is not None:
        compared.append((".test", "test images", test.pixels))
    for suffix, whose, pixels in compared:
        distance, _ = nearest(pixels[:n], images.pixels)
        near = float(np.median(distance) / size)
        about = "median distance to the nearest training image, in levels of 256 a pixel"
        yield Figure(f"nearest.{name}{suffix}", near, "", f"{about}: {whose}")
        alike = float(np.median(detail_correlation(pixels[:n], images.pixels)))
        about = "correlation of detail with the most alike training image, median"
        yield Figure(f"alike.{name}{suffix}", alike, "", f"{about}: {whose}")


def unconditional(
    name: str,
    label: str,
    out: Path,
    shrink: int,
    particles: int,
    samples: int | None = None,
    flips: bool = False,
    **settings: Any,
) -> Iterator[Figure]:
    """Fit a data set; yield the cost and the metrics of the first samples, and draw some."""
    images = load(name)
    data = images[: len(images) // shrink**2]
    if shrink > 1:  # the default start, with a covariance, would take longer than all the rest
        settings |= {"schedule": "quick", "start": 0.1}
    seen = data.with_flips() if flips else data
    model, cost = fit(seen, n_particles=particles // shrink**2, **settings)
    about = f"{particles // shrink**2:,} particles, {label}"
    yield Figure(f"minutes.{label}", cost.minutes, "min", f"the fit, {about}")
    yield Figure(f"memory.{label}", cost.gib, "GiB", f"most memory during the fit, {about}")
    x = model.particles_[:samples]
    save(grid(x[:160]), out, label)
    yield from judged(x, data, label, f"{len(x):,} samples to {len(data):,} images, {label}")
    test = None if name == "celeba" else load(name, "test")
    yield from copying(x, seen, test, out, label, shrink)
