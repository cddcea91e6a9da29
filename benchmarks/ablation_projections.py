"""Uniform against local against pyramidal projections, as in the paper's figure."""

from collections.abc import Iterator

import numpy as np

from benchmarks._ablations import STEPS, figure, flow, pyramidal
from benchmarks._images import save
from benchmarks.ledger import Figure
from sliceflow import Stage
from sliceflow.schedules import PAPER


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID of each kind, and draw a row of samples of each."""
    steps, patches = STEPS // shrink, PAPER[28][28]
    kinds = {
        "uniform": (Stage(steps),),
        "local": tuple(Stage(max(1, steps // len(patches)), 28, s) for s in patches),
        "pyramidal": pyramidal(shrink),
    }
    rows = []
    for kind, schedule in kinds.items():
        model, cost = flow(shrink, schedule)
        rows.append(model.particles_[:16])
        yield figure(f"projections.{kind}", f"{kind} projections", model, cost, shrink)
    save(np.stack(rows), "ablation-projections", shrink)
