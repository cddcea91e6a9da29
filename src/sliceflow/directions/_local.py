"""Locally-connected directions: patches of a pyramid level, upsampled to the image (section 5)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sliceflow.core._random import Random
from sliceflow.directions._operator import DenseRows, Projection, SparseRows
from sliceflow.directions._pyramid import LanczosLevel, level_shape
from sliceflow.directions._sphere import uniform


@dataclass(frozen=True)
class Local:
    """H directions in S×S patches, uniform on their sphere, at random centres of a level.

    What hangs over the border is cut off. A patch as large as the level is the whole level: then
    there is nothing to place. With l condition coordinates, θ_y is uniform on its own sphere, and
    θ_x and θ_y, each of length one, are normalised together; θ_y is then amplified by ξ.
    """

    shape: tuple[int, int, int]
    resolution: int
    patch: int
    h: int
    l: int = 0
    amplifier: float = 1.0

    @property
    def _level_shape(self) -> tuple[int, int, int]:
        return level_shape(self.shape, self.resolution)

    def draw(self, rng: Random, like: Tensor) -> Projection:
        """Draw H directions, of the dtype and on the device of ``like``."""
        level = LanczosLevel.at(self.shape, self.resolution, like)
        cells, theta = self._patches(rng, level)
        d = math.prod(self._level_shape)
        if self.l:
            condition = torch.arange(d, d + self.l, device=like.device)
            cells = torch.cat([cells, condition.expand(self.h, -1)], dim=1)
            theta_y = self.amplifier * uniform(rng, self.h, self.l, like)
            theta = torch.cat([theta, theta_y], dim=1) / 2**0.5
        if self._is_whole_level:  # then the cells are all there are, in their order
            return Projection(DenseRows(theta))
        return Projection(SparseRows(cells, theta, d + self.l))

    @property
    def _is_whole_level(self) -> bool:
        return self.patch >= self.resolution

    def _patches(self, rng: Random, level: LanczosLevel) -> tuple[Tensor, Tensor]:
        """Draw the level's cells that each θ_x touches and its values there, both (H, C·S²)."""
        (channels, a, b), h, device = self._level_shape, self.h, level.rows.device
        row, column = (self._place(rng, side).to(device) for side in (a, b))
        size = channels, row.shape[1], column.shape[1]
        theta = uniform(rng, h, math.prod(size), level.rows).reshape(h, *size)
        inside = _inside(row, a)[:, None, :, None] & _inside(column, b)[:, None, None, :]
        theta = theta * inside
        row, column = row.clamp(0, a - 1), column.clamp(0, b - 1)
        theta = theta / _upsampled_norm(theta, row, column, level)
        channel = torch.arange(channels, device=device)[:, None, None]
        cells = (channel * a + row[:, None, :, None]) * b + column[:, None, None, :]
        return cells.reshape(h, -1), theta.reshape(h, -1)

    def _place(self, rng: Random, side: int) -> Tensor:
        """Draw where patches are along a side of the level, (H, S); some may hang over it."""
        if self._is_whole_level:
            return torch.arange(side).expand(self.h, -1)
        first = rng.integers(side, self.h) - self.patch // 2
        return torch.from_numpy(first)[:, None] + torch.arange(self.patch)


def _inside(line: Tensor, k: int) -> Tensor:
    return (line >= 0) & (line < k)


def _upsampled_norm(theta: Tensor, row: Tensor, column: Tensor, level: LanczosLevel) -> Tensor:
    """Return ‖R θ Qᵀ‖ for patches (H, C, S, S) at the given rows and columns, (H, S).

    With the Gram matrices G = RᵀR and K = QᵀQ it is ⟨θ, G θ K⟩, read at the patch alone.
    """
    gram_rows = (level.rows.T @ level.rows)[row[:, :, None], row[:, None, :]]
    gram_columns = (level.columns.T @ level.columns)[column[:, :, None], column[:, None, :]]
    g_theta_k = gram_rows[:, None] @ theta @ gram_columns[:, None]
    return (theta * g_theta_k).sum(dim=(1, 2, 3), keepdim=True).sqrt()
