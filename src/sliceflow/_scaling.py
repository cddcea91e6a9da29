"""Columns in units of their own: mean 0 and standard deviation 1."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Scaling:
    """A shift and a scale for each coordinate of particles (D, M), each (D, 1) in float64."""

    mean: Tensor
    std: Tensor

    @classmethod
    def of(cls, z: Tensor, scaled: Tensor) -> Self:
        """Return the scaling of these particles where ``scaled``, (D,), is true."""
        mean, std = torch.zeros(len(z), 1).double(), torch.ones(len(z), 1).double()
        if scaled.any():
            std[scaled], mean[scaled] = torch.std_mean(z[scaled].double(), dim=1, keepdim=True)
        return cls(mean, std)

    def forward(self, z: Tensor) -> Tensor:
        """Return z in its own units, as float32."""
        return ((z - self.mean.to(z)) / self.std.to(z)).float()

    def back(self, z: Tensor) -> Tensor:
        """Return z in the units of the data, as float64."""
        return z.cpu() * self.std + self.mean
