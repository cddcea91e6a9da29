"""What each choice of ours is worth on CIFAR-10: all else as in the quick preset."""

from collections.abc import Iterator
from dataclasses import replace

from benchmarks._images import Judge, available, fit
from benchmarks.ledger import Figure
from sliceflow import Fast
from sliceflow.schedules import Stage, pyramid

QUICK = pyramid((3, 32, 32), "quick")


def changed(fine: bool, times: float = 1, **change) -> tuple[Stage, ...]:
    """Return the quick schedule with a change to the stages of full size, or to the others."""
    return tuple(
        replace(stage, steps=round(stage.steps * times), **change)
        if (stage.resolution == 32) == fine
        else stage
        for stage in QUICK
    )


def patches(*sides: int) -> tuple[Stage, ...]:
    """Return the quick schedule with other patches at full size."""
    coarse = [stage for stage in QUICK if stage.resolution != 32]
    return (*coarse, *(replace(QUICK[-1], patch=side) for side in sides))


CHOICES = {
    "quick": {},
    "start N(0, 0.1²)": {"start": 0.1},
    "start N(0, 1)": {"start": 1.0},
    "random directions below 32×32": {"schedule": changed(False, band=None)},
    "bands of 3 alone below 32×32": {"schedule": changed(False, band=3)},
    "axes alone below 32×32": {"schedule": changed(False, band=1)},
    "random directions at 32×32": {"schedule": changed(True, band=None)},
    "bands of 3 at 32×32": {"schedule": changed(True, band=3)},
    "patches 7, 5, 3 at 32×32": {"schedule": patches(7, 5, 3)},
    "patches 3, 2 at 32×32": {"schedule": patches(3, 2)},
    "shared maps at 32×32": {"schedule": changed(True, shared=True)},
    "three times the steps below 32×32": {"schedule": changed(False, times=3)},
    "three times the steps at 32×32": {"schedule": changed(True, times=3)},
    "step size 0.5": {"engine": Fast(step_size=0.5)},
    "M = 2,000": {"n_particles": 2_000},
    "M = 20,000": {"n_particles": 20_000},
    "batches of 5,000": {"batch_size": 5_000},
    "all data each step": {"batch_size": None},
}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID of 2,000 samples each."""
    images = available("cifar10")
    if images is None:
        return
    images = images[: 50_000 // shrink**2]
    judge, data = Judge(images), images.with_flips()
    usual = {"schedule": QUICK, "n_particles": 5_000, "batch_size": 20_000}
    for number, (name, choice) in enumerate(CHOICES.items()):
        settings = usual | choice
        if shrink > 1:
            settings |= {"n_particles": 100, "start": 0.1}
        model, cost = fit(data, **settings)
        fid = judge.fid_of(model.particles_[:2000])
        about = f"FID of 2,000 samples, CIFAR-10: {name}; {cost}"
        yield Figure(f"choices.{number:02}", fid, "", about)
        if shrink > 1:
            return
