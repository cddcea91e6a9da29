"""Directions drawn uniformly on the sphere (Algorithm 1)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sliceflow.projections.operator import DenseRows, Projection


def uniform(rng: np.random.Generator, h: int, d: int, like: Tensor) -> Tensor:
    """Draw h points uniformly on the unit sphere of d dimensions, with shape (h, d)."""
    g = torch.from_numpy(rng.standard_normal((h, d), dtype=np.float32)).to(like)
    return torch.nn.functional.normalize(g)


@dataclass(frozen=True)
class Sphere:
    """Uniform on the sphere of all d + l coordinates, those of x and of the condition together.

    The part of the condition is then amplified by ξ: the rows are [θ_x, ξ θ_y].
    """

    d: int
    l: int = 0
    amplifier: float = 1.0

    @property
    def reach(self) -> int:
        """How many coordinates of x the directions span."""
        return self.d

    def draw(self, rng: np.random.Generator, h: int, like: Tensor) -> Projection:
        """Draw h directions, of the dtype and on the device of ``like``."""
        theta = uniform(rng, h, self.d + self.l, like)
        theta[:, self.d :] *= self.amplifier
        return Projection(DenseRows(theta))
