"""How fast samples are drawn from saved models, two kinds: digits by class, and photographs."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import torch

from benchmarks.ledger import Figure
from benchmarks.offline import quick_fit, saved
from sliceflow import Model, load
from sliceflow.core._random import Draw, Random
from sliceflow.flow._state import State
from sliceflow.reproduce._speed import seconds

MANY = 1000
"""Samples that are drawn at once."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how long the first sample takes, and samples a second."""
    for name in ["mnist", "cifar10"] if shrink == 1 else ["mnist"]:
        fitted, _, _ = quick_fit(name, 10_000 // shrink**2, shrink)
        y = fitted.conditions_
        with saved(fitted.model_) as path:
            model = load(path)
            first = median(first_sample(path, y is not None) for _ in range(repeats))
        whose = f"the first sample of a new process after it loaded the model, {name}"
        yield Figure(f"first_sample.{name}", first, "s", whose)
        yield from speed(name, model, y, repeats)


def first_sample(path: Path, labels: bool) -> float:
    """Return the seconds that a new process takes for a sample, once it has loaded the model."""
    code = f"""
import sys, time, sliceflow
model = sliceflow.load(sys.argv[1])
started = time.perf_counter()
model.sample(1, {0 if labels else None})
print(time.perf_counter() - started)
"""
    command = [sys.executable, "-c", code, str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def speed(name: str, model: Model, y: np.ndarray | None, repeats: int) -> Iterator[Figure]:
    """Yield samples a second, and the time of sampling to that of its matrix products."""
    y = None if y is None else np.resize(y, MANY)
    model.sample(MANY, y)  # compile
    bare = products(model)
    times = [(seconds(lambda: model.sample(MANY, y)), seconds(bare)) for _ in range(repeats)]
    rate = MANY / median(ours for ours, _ in times)
    yield Figure(f"samples_per_s.{name}", rate, "", f"samples a second, {MANY:,} at a time, {name}")
    ratio = median(ours / theirs for ours, theirs in times)
    about = f"sampling / its bare matrix products, {name}"
    yield Figure(f"sample.bare_ratio.{name}", ratio, "", about)


def products(model: Model) -> Callable[[], None]:
    """Return the matrix products of all steps alone: to the directions, and back."""
    stages = []
    for number, stage in enumerate(model.spec.schedule):
        state = State([torch.empty(1, 1)], [], stage=number)
        basis = model.prepare(state).directions.basis
        p = len(basis.draw(Random(0, Draw.DIRECTIONS)))
        spec = model.spec
        h, _ = spec.engine.count_maps(replace(stage, shared=False), spec.shape, spec.condition)
        x = torch.randn(h // p, p, MANY)
        stages.append((stage.steps, torch.randn(h // p, p, p), x, *map(torch.empty_like, (x, x))))

    def multiply() -> None:
        for steps, theta, x, z, move in stages:
            for _ in range(steps):
                torch.bmm(theta, x, out=z)
                torch.bmm(theta.mT, z, out=move)

    return multiply
