"""A schedule is rows: which directions, for how many steps, one stage after the other."""

import math
from dataclasses import dataclass

from sliceflow.conditions import Condition
from sliceflow.projections import Directions, Local, Sphere


@dataclass(frozen=True)
class Stage:
    """Steps with uniform directions or, at resolution k, with S×S patches of the k×k level."""

    steps: int
    resolution: int | None = None
    patch: int | None = None

    def directions(self, shape: tuple[int, ...], condition: Condition) -> Directions:
        """Return the law of the directions for x of this shape, given the condition."""
        l, amplifier = condition.l, condition.amplifier
        if self.resolution is None:
            return Sphere(math.prod(shape), l, amplifier)
        channels, height, width = shape
        patch = self.resolution if self.patch is None else self.patch
        return Local((channels, height, width), self.resolution, patch, l, amplifier)
