"""Columns x given numbers y, as what a regression leaves over.

    x = μ(y) + σ(y) u

The flow moves only u, in units without heavy tails, given a summary of y. The summary has the mean
μ(y), the sizes of residuals with two modes, and what y says of the products of residuals, such as
how two columns are correlated. It is short, however many columns y has: the flow need not find out
which of them matter (compare Fearnhead & Prangle 2012).

A particle is (u, the summary, log σ², y). Directions see only u and the summary; the rest is there
for decoding.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from sliceflow.codec._modes import Modes
from sliceflow.codec._moments import TINY, Moments
from sliceflow.codec._regression import CANDIDATES, Candidate, Regression, Regressor
from sliceflow.codec._units import Frame, Units
from sliceflow.core._random import Draw, Random
from sliceflow.core._threads import single_threaded

MAX_CURVED = 100
"""Maximum number of columns of x that are predicted by more than lines, for time and memory."""

MIN_SPREAD = 0.1
"""Minimum standard deviation by which the summary is divided.

A prediction from one row less leans away from that row. Without a limit, a summary that says
nothing of x would be divided by this tiny lean, and show x itself.
"""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Converts particles (x, y) to (u, summary, log σ², y), and back.

    Parameters
    ----------
    frame
        The units and axes of x in which it is predicted.
    modes
        The residuals with two modes.
    regression
        Predicts the moments of x.
    limits
        The lowest and the highest prediction for a row of the data, (2, T).
    scale
        The standard deviation of each column of residuals, and of the summary.
    shift
        The mean of each coordinate of the summary.
    u_units
        The units of standardised residuals in which they are moved.
    """

    frame: Frame
    modes: Modes
    regression: Regression
    limits: Tensor
    scale: Tensor
    shift: Tensor
    u_units: Units

    @property
    def d(self) -> int:
        """The number of columns of x."""
        return len(self.frame.axes)

    @property
    def n_summary(self) -> int:
        """The number of coordinates of the summary."""
        return len(self.shift)

    @property
    def n_added(self) -> int:
        """The number of coordinates that a particle has besides x and y."""
        return self.n_summary + self.d

    @classmethod
    def fit(
        cls, z: Tensor, d: int, candidates: tuple[Candidate, ...] = CANDIDATES
    ) -> tuple[Self, Tensor]:
        """Return the regression of x on y of particles (d + l, n), and them as residuals.

        Residuals of each row are those of fits without it.
        """
        if d > MAX_CURVED:
            candidates = tuple(c for c in candidates if not c.has_kernel)
        order = torch.from_numpy(Random(0, Draw.CENTRES).permutation(z.shape[1]))
        x, y = torch.split(z[:, order].double(), [d, len(z) - d])
        frame, moments = _predict(x, y.T.contiguous(), candidates)
        x = frame.forward(x)
        residuals = single_threaded(lambda: cls._standardised(frame, moments, x))
        encoded = residuals._joined(x, moments.predicted, y)
        return residuals, encoded[:, order.argsort()]

    @classmethod
    def _standardised(cls, frame: Frame, moments: Moments, x: Tensor) -> Self:
        """Return residuals with the deviations of these x, (d, n)."""
        d, seen = len(x), _seen(x, moments.predicted, moments.modes)
        spread, summary = seen.std(dim=1, keepdim=True), seen[d:]
        scale = torch.cat([spread[:d].clamp(min=TINY), spread[d:].clamp(min=MIN_SPREAD)])
        shift, u_units = summary.mean(dim=1, keepdim=True), Units.of(seen[:d] / scale[:d])
        limits = torch.stack(moments.predicted.aminmax(dim=1))
        return cls(frame, moments.modes, moments.regression, limits, scale, shift, u_units)

    def forward(self, z: Tensor) -> Tensor:
        """Return particles (x, y), (d + l, n), as (u, summary, log σ², y), in float32."""
        y = z[self.d :].cpu().double()
        predicted = self.regression(y.T).clamp(*self.limits).T
        return self._joined(self.frame.forward(z[: self.d].cpu()), predicted, z[self.d :].cpu())

    def _joined(self, x: Tensor, predicted: Tensor, y: Tensor) -> Tensor:
        d, seen = self.d, _seen(x, predicted, self.modes)
        seen[d:] -= self.shift
        seen /= self.scale
        u = self.u_units.forward(seen[:d])
        return torch.cat([u, seen[d:], predicted[d : 2 * d], y]).float()

    def inverse(self, z: Tensor) -> Tensor:
        """Return particles (u, summary, log σ², y) as (x, y), in float64."""
        d, z = self.d, z.cpu().double()
        parts = [d, self.n_summary, d, len(z) - 2 * d - self.n_summary]
        u, summary, log_variance, y = torch.split(z, parts)
        u = self.scale[:d] * self.u_units.inverse(u)
        summary = self.scale[d:] * summary + self.shift
        mean, sizes = summary[:d], summary[d : d + len(self.modes.columns)]
        x = mean + self.modes.open((log_variance / 2).exp() * u, sizes)
        return torch.cat([self.frame.inverse(x), y])


def _seen(x: Tensor, predicted: Tensor, modes: Modes) -> Tensor:
    """Return u and the summary, for x, (d, n), and predictions, (T, n); not standardised."""
    d, f = len(x), len(modes.columns)
    mean, log_variance, sizes = predicted[:d], predicted[d : 2 * d], predicted[2 * d : 2 * d + f]
    u = modes.close(x - mean, sizes) * (-log_variance / 2).exp()
    return torch.cat([u, mean, predicted[2 * d :]])


def _predict(x: Tensor, y: Tensor, candidates: tuple[Candidate, ...]) -> tuple[Frame, Moments]:
    """Return the frame of x, (d, n), and its moments in this frame, given y, (n, l).

    Flat columns keep their units only if columns depend on each other, given y. Residuals that are
    correlated are seen along their principal axes.
    """
    frame, without_flat = single_threaded(lambda: (Frame.of(x), Frame.of(x, keep_flat=False)))
    both = torch.cat([x, frame.forward(x)]).T  # metrics are to predict x in either units
    regressor = Regressor(y, both, candidates, Random(0, Draw.CENTRES))

    def moments(frame: Frame) -> Moments:
        return Moments.of(regressor, frame.forward(x))

    found = moments(frame)
    if found.are_correlated():
        frame = frame.rotated(found.principal_axes())
        return frame, moments(frame)
    if found.predicts_products() or torch.equal(frame.units.kept, without_flat.units.kept):
        return frame, found
    return without_flat, moments(without_flat)
