"""A schedule is rows: which directions, for how many steps, one stage after the other."""

import math
from dataclasses import dataclass

from sliceflow._validation import check_integer, check_optional_integer
from sliceflow.conditions import Condition
from sliceflow.projections import Directions, Local, Sphere


@dataclass(frozen=True)
class Stage:
    """Steps with uniform directions or, at a ``resolution`` k, with patches of the k×k level.

    The side of a patch is ``patch``; if it is not given or larger than k, the patch is the level.
    """

    steps: int
    resolution: int | None = None
    patch: int | None = None

    def __post_init__(self) -> None:
        check_integer("steps", self.steps, 1)
        check_optional_integer("resolution", self.resolution, 1)
        check_optional_integer("patch", self.patch, 1)
        if self.patch is not None and self.resolution is None:
            raise ValueError(f"{self} has a patch but no level: give its resolution too")

    def directions(self, shape: tuple[int, ...], condition: Condition) -> Directions:
        """Return the law of the directions for x of this shape, given the condition."""
        l, amplifier = condition.l, condition.amplifier
        if self.resolution is None:
            return Sphere(math.prod(shape), l, amplifier)
        channels, height, width = shape
        patch = self.resolution if self.patch is None else self.patch
        return Local((channels, height, width), self.resolution, patch, l, amplifier)
