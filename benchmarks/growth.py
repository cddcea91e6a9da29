"""How time and memory grow: log-log slopes over a factor of sixteen, and the stated ceiling."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from statistics import median

import matplotlib.pyplot as plt
import numpy as np
import torch

from benchmarks.ledger import ROOT, Figure
from sliceflow import ArrayTarget, Flow, Spec, Stage
from sliceflow.core._distributed import BLOCK_VALUES
from sliceflow.reproduce._speed import seconds

PICTURE = ROOT / "docs" / "growth.png"
STEPS = 4
PATCH = 4
AXES = {
    "particles": [{"m": m} for m in (5000, 10_000, 20_000, 40_000, 80_000)],
    "rows": [{"n": n} for n in (5000, 10_000, 20_000, 40_000, 80_000)],
    "directions": [{"k": k, "side": 64} for k in (16, 24, 32, 48, 64)],
    "dimensions": [{"k": 8, "side": side} for side in (16, 24, 32, 48, 64)],
}
GROWTH = {
    "particles": lambda size: size["m"],
    "rows": lambda size: size["n"],
    "directions": lambda size: size["k"] ** 2,
    "dimensions": lambda size: size["side"] ** 2,
}
SIZE = {"m": 10_000, "n": 10_000, "k": 28, "side": 28}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the slopes and the memory; draw the picture, unless it would be of small sizes."""
    figure, axes = plt.subplots(1, 5, figsize=(16, 3.2), layout="constrained")
    for name, ax in zip(AXES, axes, strict=False):
        x = [GROWTH[name](SIZE | size) for size in AXES[name]]
        sizes = [SIZE | size for size in AXES[name]]
        y = [stage_seconds(size, repeats, shrink) / STEPS for size in sizes]
        slope = np.polyfit(np.log(x), np.log(y), 1)[0]
        about = f"slope of log time over log {name}, a factor of sixteen"
        yield Figure(f"growth.time.{name}", float(slope), "", about)
        ax.loglog(x, np.array(y) * 1e3, "o-")
        ax.minorticks_off()
        ax.set_xticks(x, [f"{value:,}" for value in x], rotation=30)
        ax.set_yticks([10, 30, 100, 300], ["10", "30", "100", "300"])
        ax.set(title=f"slope {slope:.2f}", xlabel=name, ylabel="ms a step", ylim=(8, 500))
    yield from memory(axes[-1], shrink)
    if shrink == 1:
        figure.savefig(PICTURE, dpi=80)


def stage_seconds(size: dict[str, int], repeats: int, shrink: int) -> float:
    """Return the time of a stage, with entering and leaving its level."""
    side, m, n = size["side"], size["m"] // shrink, size["n"] // shrink
    target, stage = ArrayTarget(torch.randn(side * side, n)), Stage(STEPS, size["k"], PATCH)
    flow = Flow(Spec((1, side, side), (stage,)), [target])
    flow.run(flow.start(m))
    return median(seconds(partial(flow.run, flow.start(m))) for _ in range(repeats))


def memory(ax: plt.Axes, shrink: int) -> Iterator[Figure]:
    """Yield the largest measured memory over the ceiling that docs/cost.md states."""
    measured, stated = [], []
    sizes = [(5000, 5000), (10_000, 20_000), (40_000, 20_000), (20_000, 80_000)]
    for m, n in sizes if shrink == 1 else sizes[:1]:
        measured.append(peak(m, n))
        stated.append(ceiling(channels=3, k=32, patch=5, m=m, n=n))
    ax.plot([0, max(stated)], [0, max(stated)], color="grey", label="ceiling")
    ax.plot(stated, measured, "o", label="measured")
    ax.set(title="peak memory", xlabel="stated, MiB", ylabel="MiB")
    ax.legend()
    ratios = np.array(measured) / stated
    about = "peak memory of a step / stated ceiling"
    yield Figure("growth.memory.most", float(ratios.max()), "", f"{about}, most of four sizes")
    yield Figure("growth.memory.least", float(ratios.min()), "", f"{about}, least of four sizes")


def ceiling(channels: int, k: int, patch: int, m: int, n: int, threads: int = 2) -> float:
    """Return the stated memory in MiB: particles and data, and what each thread works on."""
    d, p = channels * k * k, channels * patch**2
    tiles = max(1, BLOCK_VALUES // (p * max(m, n)))
    return 4 * (d * (m + n) + threads * tiles * p * max(2 * m, m + 2 * n)) / 2**20


def peak(m: int, n: int) -> float:
    """Return the peak memory in MiB of a process that does some steps, less that of a small one."""
    return _peak(m, n) - _peak(100, 100)


def _peak(m: int, n: int) -> float:
    command = [sys.executable, "-m", "benchmarks._peak", str(m), str(n)]
    # What is freed is given back at once, and not kept by the allocator for the next time.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}
    return float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
