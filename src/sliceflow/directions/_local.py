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
    """H directions, each in an S×S patch at a random place of a level, uniform on its sphere.

    The part of a patch beyond the border is cut off. If the patch is as large as the level, it is
    the whole level. With l condition coordinates, θ_y is uniform on its own sphere. Then θ_x and
    θ_y, each of length one, are normalised together, and θ_y is amplified by ξ.
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
        if self._is_whole_level:  # then the cells are all coordinates, in order
            return Projection(DenseRows(theta))
        return Projection(SparseRows(cells, theta, d + self.l))

    @property
    def _is_whole_level(self) -> bool:
        return self.patch >= self.resolution

    def _patches(self, rng: Random, level: LanczosLevel) -> tuple[Tensor, Tensor]:
        """Draw the cells of the level that each θ_x touches, and its values, both (H, C·S²)."""
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
        """Draw the rows or columns of patches, (H, S); some may be beyond the border."""
        if self._is_whole_level:
            return torch.arange(side).expand(self.h, -1)
        first = rng.integers(side, self.h) - self.patch // 2
        return torch.from_numpy(first)[:, None] + torch.arange(self.patch)


def _inside(index: Tensor, side: int) -> Tensor:
    return (index >= 0) & (index < side)


def _upsampled_norm(theta: Tensor, row: Tensor, column: Tensor, level: LanczosLevel) -> Tensor:
    """Return ‖R θ Qᵀ‖ for patches (H, C, S, S) at the given rows and columns, (H, S).

    With the Gram matrices G = RᵀR and K = QᵀQ, its square is ⟨θ, G θ K⟩, where G and K are needed
    at the patch only.
    """
    gram_rows = (level.rows.T @ level.rows)[row[:, :, None], row[:, None, :]]
    gram_columns = (level.columns.T @ level.columns)[column[:, :, None], column[:, None, :]]
    g_theta_k = gram_rows[:, None] @ theta @ gram_columns[:, None]
    return (theta * g_theta_k).sum(dim=(1, 2, 3), keepdim=True).sqrt()
