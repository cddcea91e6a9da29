"""The paper's ablations with its own engine, on small flows to MNIST: H, M, and projections."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from benchmarks._images import Cost, Judge, available, fit, save
from benchmarks.ledger import Figure
from sliceflow import Exact, Stage
from sliceflow.schedules import PAPER

STEPS, M, H = 300, 2000, 500


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID of the first 500 samples, all against the same 10,000 training images."""
    images = available("mnist")
    if images is None:
        return
    data = images[: 10_000 // shrink**2]
    judge, rows = Judge(data), []

    @cache  # the pyramidal flow is one of each kind
    def measured(schedule: tuple[Stage, ...], m: int, h: int) -> tuple[float, Cost]:
        engine, settings = Exact(n_directions=h // shrink), {"n_particles": m // shrink}
        model, cost = fit(data, engine=engine, schedule=schedule, batch_size=5000, **settings)
        rows.append(model.particles_[:16])
        return judge.fid_of(model.particles_[: 500 // shrink]), cost

    def figure(name: str, about: str, schedule: tuple[Stage, ...], m=M, h=H) -> Figure:
        fid, cost = measured(schedule, m, h)
        return Figure(f"ablation.{name}", fid, "", f"FID of 500 samples, {about}; {cost}")

    steps = STEPS // shrink
    kinds = {"uniform": (Stage(steps),), "local": local(steps), "pyramidal": pyramidal(steps)}
    for kind, schedule in kinds.items():
        yield figure(f"projections.{kind}", f"{kind} projections", schedule)
    save(np.stack(rows[:3]), "ablation-projections", shrink)
    for h in (50, 150, 500) if shrink == 1 else (50,):
        yield figure(f"h.{h}", f"H = {h}", kinds["pyramidal"], h=h)
    for m in (500, 1000, 2000) if shrink == 1 else (500,):
        yield figure(f"m.{m}", f"M = {m}", kinds["pyramidal"], m=m)


def local(steps: int) -> tuple[Stage, ...]:
    """Return patches of the image itself, from large to small."""
    patches = PAPER[28][28]
    return tuple(Stage(steps // len(patches), 28, s) for s in patches)


def pyramidal(steps: int) -> tuple[Stage, ...]:
    """Return the paper's levels, each with three of its patches."""
    stages = [(k, s) for k, patches in PAPER[28].items() for s in patches[-3:]]
    return tuple(Stage(max(1, steps // len(stages)), k, s) for k, s in stages)
