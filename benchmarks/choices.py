"""What each choice of ours is worth on CIFAR-10: all else as in the quick preset."""

from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import groupby

from benchmarks.ledger import Figure
from sliceflow import Fast
from sliceflow.data import load
from sliceflow.flow.schedules import Stage, pyramid
from sliceflow.reproduce._fits import PART, Judge, fit

QUICK = pyramid((3, 32, 32), "quick")


def changed(fine: bool, times: float = 1, **change) -> tuple[Stage, ...]:
    """Return the quick schedule with a change to the stages above half size, or to the others."""
    return tuple(
        replace(stage, steps=round(stage.steps * times), **change)
        if (stage.resolution > 16) == fine
        else stage
        for stage in QUICK
    )


def patches(at: Container[int], *sides: int) -> tuple[Stage, ...]:
    """Return the quick schedule with other patches at some levels."""
    stages: list[Stage] = []
    for k, usual in groupby(QUICK, lambda stage: stage.resolution):
        rows = list(usual)
        stages += [replace(rows[0], patch=side) for side in sides] if k in at else rows
    return tuple(stages)


def levels(*sides: int) -> tuple[Stage, ...]:
    """Return the quick schedule with only these levels between 7×7 and full size."""
    return tuple(stage for stage in QUICK if stage.resolution in (*range(8), *sides, 32))


CHOICES = {
    "quick": {},
    "start N(0, 1)": {"start": 1.0},
    "levels 8, 16": {"schedule": levels(8, 16)},
    "random directions up to 16×16": {"schedule": changed(False, band=None)},
    "axes alone up to 16×16": {"schedule": changed(False, band=1)},
    "random directions above 16×16": {"schedule": changed(True, band=None)},
    "patches 15, 11, 9, 7, 5, 3 from 8×8 to 16×16": {
        "schedule": patches(range(8, 17), 15, 11, 9, 7, 5, 3)
    },
    "patches 7, 5, 3 at 32×32": {"schedule": patches([32], 7, 5, 3)},
    "shared maps above 16×16": {"schedule": changed(True, shared=True)},
    "three times the steps up to 16×16": {"schedule": changed(False, times=3)},
    "three times the steps above 16×16": {"schedule": changed(True, times=3)},
    "step size 0.5": {"engine": Fast(step_size=0.5)},
    "M = 20,000": {"n_particles": 20_000},
    "batches of 5,000": {"batch_size": 5_000},
}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID of 2,000 samples each, to a part of the images: to compare with one another."""
    images = load("cifar10")[: 50_000 // shrink**2]
    judge, data = Judge(images[:PART]), images.with_flips()
    usual = {"schedule": QUICK, "start": "gaussian", "n_particles": 5_000, "batch_size": 20_000}
    for number, (name, choice) in enumerate(CHOICES.items()):
        settings = usual | choice
        if shrink > 1:
            settings |= {"n_particles": 100, "start": 0.1}
        model, _ = fit(data, **settings)
        fid = judge.fid_of(model.particles_[:2000])
        about = f"FID of 2,000 samples to {PART:,} images, CIFAR-10: {name}"
        yield Figure(f"choices.{number:02}", fid, "", about)
        if shrink > 1:
            return
