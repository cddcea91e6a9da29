"""The paper's figures and tables, and a comparison of its engine with ours, by name.

Each is a function of a folder for pictures, and of the factor by which it is smaller than in
docs/results.md; it yields each `Figure` when it is measured.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from sliceflow.figures import Figure
from sliceflow.reproduce.ablations import ablation_h, ablation_m, projections
from sliceflow.reproduce.classes import classes
from sliceflow.reproduce.engines import engines
from sliceflow.reproduce.fid import celeba, cifar10, digits, table
from sliceflow.reproduce.illustrations import illustrations
from sliceflow.reproduce.inpainting import inpainting

__all__ = ["REPRODUCTIONS", "celeba", "cifar10", "digits"]

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
