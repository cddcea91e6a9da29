"""Directions drawn uniformly on the sphere (Algorithm 1)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from sliceflow.core._random import Random
from sliceflow.directions._operator import DenseRows, Projection


def uniform(rng: Random, h: int, d: int, like: Tensor) -> Tensor:
    """Draw h points uniformly on the unit sphere of d dimensions, with shape (h, d)."""
    g = torch.from_numpy(rng.normal((h, d))).to(like)
    return torch.nn.functional.normalize(g)


@dataclass(frozen=True)
class Sphere:
    """H directions, uniform on the sphere of all d + l coordinates, of x and of the condition.

    The condition's part is then amplified by ξ: the rows are [θ_x, ξ θ_y].
    """

    d: int
    h: int
    l: int = 0
    amplifier: float = 1.0

    def draw(self, rng: Random, like: Tensor) -> Projection:
        """Draw H directions, of the dtype and on the device of ``like``."""
        theta = uniform(rng, self.h, self.d + self.l, like)
        theta[:, self.d :] *= self.amplifier
        return Projection(DenseRows(theta))
