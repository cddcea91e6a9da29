"""The paper's ablations (appendix D) with its own engine, on MNIST, scaled down to two cores."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from sliceflow.data import Images, load
from sliceflow.estimator import SlicedFlow
from sliceflow.flow._engines import Exact
from sliceflow.flow.schedules import PAPER, Stage
from sliceflow.reproduce._figures import Figure
from sliceflow.reproduce._fits import Cost, Judge, fit, save

STEPS, M, H = 300, 2000, 500


def ablation_h(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield FID as H, the number of directions of a step, grows."""
    for h in (50, 150, 500):
        yield _figure(
            f"h.{h}", f"H = {h // shrink}", *_flow(shrink, _pyramidal(shrink), h=h), shrink
        )


def ablation_m(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield FID as M, the number of particles, grows."""
    for m in (500, 1000, 2000):
        yield _figure(
            f"m.{m}", f"M = {m // shrink}", *_flow(shrink, _pyramidal(shrink), m=m), shrink
        )


def projections(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield FID with uniform, local and pyramidal projections, and draw samples of each."""
    steps, patches = STEPS // shrink, PAPER[28][28]
    kinds = {
        "uniform": (Stage(steps),),
        "local": tuple(Stage(max(1, steps // len(patches)), 28, s) for s in patches),
        "pyramidal": _pyramidal(shrink),
    }
    rows = []
    for kind, schedule in kinds.items():
        model, cost = _flow(shrink, schedule)
        rows.append(model.particles_[:16])
        yield _figure(f"projections.{kind}", f"{kind} projections", model, cost, shrink)
    save(np.stack(rows), out, "ablation-projections")


@cache
def _judged_digits(shrink: int) -> tuple[Images, Judge]:
    """Return the training images, and the judge that compares samples with them."""
    data = load("mnist")[: 10_000 // shrink**2]
    return data, Judge(data)


def _flow(
    shrink: int, schedule: tuple[Stage, ...], m: int = M, h: int = H
) -> tuple[SlicedFlow, Cost]:
    """Fit a small flow with M particles and H directions."""
    engine, (data, _) = Exact(n_directions=h // shrink), _judged_digits(shrink)
    return fit(data, engine=engine, schedule=schedule, n_particles=m // shrink, batch_size=5000)


def _figure(name: str, about: str, model: SlicedFlow, cost: Cost, shrink: int) -> Figure:
    """Return the FID of the first 500 samples."""
    samples = model.particles_[: 500 // shrink]
    fid = _judged_digits(shrink)[1].fid_of(samples)
    return Figure(f"ablation.{name}", fid, "", f"FID of {len(samples)} samples, {about}; {cost}")


def _pyramidal(shrink: int) -> tuple[Stage, ...]:
    """Return the paper's levels, each with three of its patches."""
    stages = [(k, s) for k, patches in PAPER[28].items() for s in patches[-3:]]
    return tuple(Stage(max(1, STEPS // shrink // len(stages)), k, s) for k, s in stages)
