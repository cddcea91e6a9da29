"""Directions as linear operators: `project` and its adjoint `lift`."""

from typing import Protocol

import numpy as np
from torch import Tensor

from sliceflow.projections.local import Local
from sliceflow.projections.operator import BLOCK, Projection, Rows, slices
from sliceflow.projections.sphere import Sphere

__all__ = ["BLOCK", "Directions", "Local", "Projection", "Rows", "Sphere", "slices"]


class Directions(Protocol):
    """A law from which the directions of a step are drawn."""

    @property
    def reach(self) -> int:
        """How many coordinates of x the directions span."""

    def draw(self, rng: np.random.Generator, h: int, like: Tensor) -> Projection:
        """Draw h directions, of the dtype and on the device of ``like``."""
