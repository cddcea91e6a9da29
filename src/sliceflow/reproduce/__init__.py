"""The paper's figures and tables, and a comparison of its engine with ours, by name.

Each is a function of a folder for pictures, and of the factor by which it is smaller than in
docs/results.md; it yields each `Figure` when it is measured.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from sliceflow.reproduce._ablations import ablation_h, ablation_m, projections
from sliceflow.reproduce._classes import classes
from sliceflow.reproduce._engines import engines
from sliceflow.reproduce._fid import celeba, cifar10, cifar10_presets, digits, table
from sliceflow.reproduce._figures import Figure
from sliceflow.reproduce._illustrations import illustrations
from sliceflow.reproduce._inpainting import inpainting

__all__ = ["REPRODUCTIONS", "celeba", "cifar10", "cifar10_presets", "digits"]

REPRODUCTIONS: dict[str, Callable[[Path, int], Iterator[Figure]]] = {
    "figure-2d": illustrations,
    "figure-projections": projections,
    "figure-classes": classes,
    "figure-inpainting": inpainting,
    "table-fid": table,
    "ablation-h": ablation_h,
    "ablation-m": ablation_m,
    "ablation-xi": classes,
    "engines": engines,
}
