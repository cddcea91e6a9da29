"""The paper's ablations with its own engine, on small flows to MNIST: H, M, and projections."""

from collections.abc import Iterator

import numpy as np

from benchmarks._images import Judge, available, save, timed_fit
from benchmarks.ledger import Figure
from sliceflow import Exact, Stage
from sliceflow.data import Images
from sliceflow.schedules import PAPER

STEPS, M, H = 300, 2000, 500


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID of the first 500 samples, all against the same 10,000 training images."""
    images = available("mnist")
    if images is None:
        return
    data = images[: 10_000 // shrink**2]
    judge = Judge(data)

    def fid(schedule: list[Stage], m: int, h: int) -> tuple[float, np.ndarray]:
        samples = fit(data, schedule, m // shrink, h // shrink).particles_
        return judge.fid_of(samples[: 500 // shrink]), samples

    steps, rows = STEPS // shrink, []
    kinds = {"uniform": [Stage(steps)], "local": local(steps), "pyramidal": pyramidal(steps)}
    for kind, schedule in kinds.items():
        value, samples = fid(schedule, M, H)
        rows.append(samples[:16])
        yield Figure(f"ablation.projections.{kind}", value, "", f"FID, {kind} projections")
    save(np.stack(rows), "ablation-projections", shrink)
    for h in (50, 150, 500) if shrink == 1 else (50,):
        yield Figure(f"ablation.h.{h}", fid(kinds["pyramidal"], M, h)[0], "", f"FID, H = {h}")
    for m in (500, 1000, 2000) if shrink == 1 else (500,):
        yield Figure(f"ablation.m.{m}", fid(kinds["pyramidal"], m, H)[0], "", f"FID, M = {m}")


def fit(data: Images, schedule: list[Stage], m: int, h: int):
    """Return a flow of the paper's engine."""
    settings = {"n_particles": m, "batch_size": 5000}
    return timed_fit(data, engine=Exact(n_directions=h), schedule=schedule, **settings)[0]


def local(steps: int) -> list[Stage]:
    """Return patches of the image itself, from large to small."""
    patches = PAPER[28][28]
    return [Stage(steps // len(patches), 28, s) for s in patches]


def pyramidal(steps: int) -> list[Stage]:
    """Return the paper's levels, each with three of its patches."""
    stages = [(k, s) for k, patches in PAPER[28].items() for s in patches[-3:]]
    return [Stage(max(1, steps // len(stages)), k, s) for k, s in stages]
