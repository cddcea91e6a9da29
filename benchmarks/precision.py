"""How many knots a model needs, and of how many bits: FID and size, MNIST by class."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partialmethod
from unittest.mock import patch

from benchmarks.ledger import Figure
from benchmarks.offline import quick_fit, saved
from sliceflow import Model, Plan
from sliceflow.reproduce._fits import PART, Judge
from sliceflow.transport import KnotMap

SAMPLES = 1000


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID of offline samples and megabytes for each number of knots and of bits."""
    fitted, images, _ = quick_fit("mnist", 10_000 // shrink**2, shrink)
    plan = fitted.plan(images.pixels, images.labels)
    real, y = images[: PART // shrink**2], fitted.conditions_[: SAMPLES // shrink]
    fid = Judge(real).fid_of
    about = f"{len(y):,} samples to {len(real):,} images, MNIST by class, quick"
    batched = fid(fitted.particles_[: len(y)])
    yield Figure("precision.batched", batched, "", f"FID of the fit's particles, {about}")
    for knots in (16, 32, 64, 128, 256) if shrink == 1 else (16,):
        for bits in (16, 32):
            model = recorded(plan, knots, bits)
            what = (
                f"{knots} knots of {bits} bits: FID of offline samples, {megabytes(model):.0f} MB"
            )
            value = fid(model.sample(len(y), y, random_state=1))
            yield Figure(f"precision.{knots}.{bits}", value, "", f"{what}, {about}")


def recorded(plan: Plan, knots: int, bits: int) -> Model:
    """Run a fit once more, and record it."""
    plan = replace(plan, flow=replace(plan.flow, knots=knots))
    with patch.object(KnotMap, "packed", partialmethod(KnotMap.packed, bits)):
        model = plan.model(plan.run())
    assert model is not None
    return model


def megabytes(model: Model) -> float:
    """Return the size of the model's file."""
    with saved(model) as path:
        return path.stat().st_size / 1e6
