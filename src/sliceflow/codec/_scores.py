"""Normal scores: a monotone change of units in which each column is Gaussian.

A value with rank r among n becomes Φ⁻¹((r + ½) / n). Bounds, skew and outliers are gone from the
scores, and come back with the values: no sample is beyond the data.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

MAX_KNOTS = 1001
"""Maximum number of ranks at which the values of a column are kept."""


@dataclass(frozen=True, eq=False)
class NormalScores:
    """The sorted values of each of c columns at some ranks, (c, K), and their scores, (K,)."""

    values: Tensor
    scores: Tensor

    @classmethod
    def of(cls, x: Tensor) -> Self:
        """Return the scores of columns (c, n)."""
        n = x.shape[1]
        ranks = torch.linspace(0, n - 1, min(n, MAX_KNOTS), dtype=torch.float64).round()
        values = x.double().sort(dim=1).values[:, ranks.long()]
        return cls(values.contiguous(), torch.special.ndtri((ranks + 0.5) / n))

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of values (c, M), in float64; equal values have their mean score."""
        x = x.double().contiguous()
        before = torch.searchsorted(self.values, x)
        after = torch.searchsorted(self.values, x, right=True)
        total = torch.nn.functional.pad(self.scores.cumsum(dim=0), (1, 0))
        mean = (total[after] - total[before]) / (after - before).clamp(min=1)
        return torch.where(after > before, mean, self._between(x, before))

    def _between(self, x: Tensor, after: Tensor) -> Tensor:
        """Return the scores of values between two knots, and the outermost scores beyond."""
        i = after.clamp(1, len(self.scores) - 1)
        low, high = self.values.gather(1, i - 1), self.values.gather(1, i)
        fraction = ((x - low) / (high - low).clamp(min=1e-300)).clamp(0, 1)
        return torch.lerp(self.scores[i - 1], self.scores[i], fraction)

    def inverse(self, z: Tensor) -> Tensor:
        """Return the values of scores (c, M), in float64, none beyond the data."""
        i = torch.searchsorted(self.scores, z.double().contiguous()).clamp(1, len(self.scores) - 1)
        low, high = self.scores[i - 1], self.scores[i]
        fraction = ((z - low) / (high - low)).clamp(0, 1)
        return torch.lerp(self.values.gather(1, i - 1), self.values.gather(1, i), fraction)
