"""Scaling: columns to mean 0 and standard deviation 1, bytes to the range −1 to 1."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

CHUNK_COORDINATES = 64
"""Number of coordinates that are scaled at a time."""

PIXEL_SHIFT, PIXEL_SCALE = 127.5, 128
"""A byte b stands for an interval of brightness: centre (b − 127.5) / 128, width 1/128."""


def to_bytes(brightness: Tensor) -> Tensor:
    """Return brightness between −1 and 1 as bytes."""
    levels = brightness.float() * PIXEL_SCALE + PIXEL_SHIFT
    return levels.round().clamp(0, 255).to(torch.uint8)


@dataclass(frozen=True, eq=False)
class Scaling:
    """A shift and a scale for each coordinate of particles (D, M), each (D, 1) in float64."""

    shift: Tensor
    scale: Tensor

    @classmethod
    def of(cls, z: Tensor, columns: Tensor, pixels: Tensor) -> Self:
        """Return the scaling of particles given which coordinates, (D,), are columns and pixels."""
        shift, scale = torch.zeros(len(z), 1).double(), torch.ones(len(z), 1).double()
        if columns.any():
            scale[columns], shift[columns] = torch.std_mean(
                z[columns].double(), dim=1, keepdim=True
            )
        scale[pixels], shift[pixels] = PIXEL_SCALE, PIXEL_SHIFT
        return cls(shift, scale)

    def forward(self, z: Tensor) -> Tensor:
        """Return z scaled, as float32.

        Scaling is in float64, so that values far from zero keep their digits. It is done in chunks,
        because all of z in float64 would take twice the memory.
        """
        scaled = torch.empty(z.shape, dtype=torch.float32, device=z.device)
        for first in range(0, len(z), CHUNK_COORDINATES):
            chunk = slice(first, first + CHUNK_COORDINATES)
            shift, scale = self.shift[chunk].to(z.device), self.scale[chunk].to(z.device)
            scaled[chunk] = z[chunk].to(torch.float64, copy=True).sub_(shift).div_(scale)
        return scaled

    def inverse(self, z: Tensor) -> Tensor:
        """Return z in the units of the data, as float64."""
        return z.cpu() * self.scale + self.shift
