"""The sliced-Wasserstein distance (equation 2)."""

from typing import Any

from sliceflow.codec._checks import check_rows
from sliceflow.core._random import Draw, Random
from sliceflow.core._validation import check_integer
from sliceflow.directions import Sphere
from sliceflow.transport._sorted import sort


def sliced_wasserstein(x: Any, y: Any, n_directions: int = 512, seed: int = 0) -> float:
    """Estimate SW₂ between two tables of equally many rows, (n, d), with uniform directions."""
    a, b = check_rows(x), check_rows(y, "y")
    if a.shape != b.shape:
        raise ValueError(
            f"x has shape {tuple(a.shape)} and y {tuple(b.shape)}: pass equally many rows "
            "with the same columns"
        )
    h = check_integer("n_directions", n_directions, 1)
    a, b = a.flatten(1).T.double(), b.flatten(1).T.double()
    A = Sphere(len(a), h).draw(Random(seed, Draw.DIRECTIONS), a)
    return float((sort(A.project(a)) - sort(A.project(b))).square().mean().sqrt())
