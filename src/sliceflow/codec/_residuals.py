"""Columns x given numbers y, as what a regression leaves over.

    x = μ(y) + σ(y) u

The flow moves only u, in units without heavy tails, given a summary of y. The summary has the mean
μ(y), and what y says of the products of residuals, such as how two columns are correlated. It is
short, however many columns y has: the flow need not find out which of them matter (compare
Fearnhead & Prangle 2012).

A particle is (u, the summary, log σ², y). Directions see only u and the summary; the rest is there
for decoding.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from sliceflow.codec._regression import CANDIDATES, Candidate, Regression, Regressor
from sliceflow.codec._units import Units
from sliceflow.core._random import Draw, Random
from sliceflow.core._threads import single_threaded

MAX_ROWS = 20_000
"""Maximum number of rows to which regressions are fitted."""

MAX_AXES, MAX_PRODUCTS = 10, 10
"""Products are those of at most this many principal axes, and at most this many are predicted."""

MIN_PREDICTED = 0.02
"""Minimum share of the variance of a product that y must predict."""

MIN_CORRELATION = 0.3
"""Minimum correlation of residuals of two columns that hang together."""

MAX_PRODUCT = 4.0
"""Products of residuals are clipped to this many standard deviations."""

TINY = 1e-12
"""Minimum variance or deviation, for an x that y determines."""

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
    units
        The units of x in which it is predicted.
    regression
        Predicts μ and log σ² of each column of x, and the products of residuals.
    limits
        The lowest and the highest prediction for a row of the data, (2, T).
    scale
        The standard deviation of each column of residuals, and of the summary.
    shift
        The mean of each coordinate of the summary.
    u_units
        The units of standardised residuals in which they are moved.
    """

    units: Units
    regression: Regression
    limits: Tensor
    scale: Tensor
    shift: Tensor
    u_units: Units

    @property
    def d(self) -> int:
        """The number of columns of x."""
        return len(self.units.kept)

    @property
    def n_summary(self) -> int:
        """The number of coordinates of the summary."""
        return len(self.shift)

    @classmethod
    def fit(
        cls, z: Tensor, d: int, candidates: tuple[Candidate, ...] = CANDIDATES
    ) -> tuple[Self, Tensor]:
        """Return the regression of x on y of particles (d + l, n), and them as residuals.

        Residuals of rows that were fitted are those of a fit without them.
        """
        order = torch.from_numpy(Random(0, Draw.CENTRES).permutation(z.shape[1]))
        fitted, others = order[:MAX_ROWS], order[MAX_ROWS:]
        x, y = z[:d].double(), z[d:].double().T
        regressor = Regressor(y[fitted], x[:, fitted].T, candidates, Random(0, Draw.CENTRES))
        units, regression, without = _regress(x, fitted, regressor)
        x = units.forward(x)
        predicted = without.new_empty(len(y), without.shape[1])
        predicted[fitted] = without
        if len(others):
            predicted[others] = regression(y[others])
        limits = torch.stack(without.aminmax(dim=0))
        residuals = single_threaded(
            lambda: cls._standardised(units, regression, limits, x, predicted.T)
        )
        return residuals, residuals._joined(x, predicted.T, z[d:])

    @classmethod
    def _standardised(
        cls, units: Units, regression: Regression, limits: Tensor, x: Tensor, p: Tensor
    ) -> Self:
        """Return residuals with the deviations of these x, (d, n), and predictions, (T, n)."""
        d, seen = len(x), _seen(x, p)
        spread, summary = seen.std(dim=1, keepdim=True), seen[d:]
        scale = torch.cat([spread[:d].clamp(min=TINY), spread[d:].clamp(min=MIN_SPREAD)])
        shift, u_units = summary.mean(dim=1, keepdim=True), Units.of(seen[:d] / scale[:d])
        return cls(units, regression, limits, scale, shift, u_units)

    def forward(self, z: Tensor) -> Tensor:
        """Return particles (x, y), (d + l, n), as (u, summary, log σ², y), in float32."""
        y = z[self.d :].cpu().double()
        predicted = self.regression(y.T).clamp(*self.limits)
        return self._joined(self.units.forward(z[: self.d].cpu()), predicted.T, z[self.d :].cpu())

    def _joined(self, x: Tensor, predicted: Tensor, y: Tensor) -> Tensor:
        d, seen = self.d, _seen(x, predicted)
        seen[d:] -= self.shift
        seen /= self.scale
        u = self.u_units.forward(seen[:d])
        return torch.cat([u, seen[d:], predicted[d : 2 * d], y]).float()

    def inverse(self, z: Tensor) -> Tensor:
        """Return particles (u, summary, log σ², y) as (x, y), in float64."""
        d, z = self.d, z.cpu().double()
        sizes = [d + self.n_summary, d, len(z) - 2 * d - self.n_summary]
        seen, log_variance, y = torch.split(z, sizes)
        u = self.scale[:d] * self.u_units.inverse(seen[:d])
        mean = self.scale[d : 2 * d] * seen[d : 2 * d] + self.shift[:d]
        return torch.cat([self.units.inverse(mean + (log_variance / 2).exp() * u), y])


def _seen(x: Tensor, predicted: Tensor) -> Tensor:
    """Return u and the summary, for x, (d, n), and predictions, (T, n); not standardised."""
    d = len(x)
    mean, log_variance, products = predicted[:d], predicted[d : 2 * d], predicted[2 * d :]
    return torch.cat([(x - mean) * (-log_variance / 2).exp(), mean, products])


def _regress(x: Tensor, fitted: Tensor, regressor: Regressor) -> tuple[Units, Regression, Tensor]:
    """Return units of x, (d, n), the regression in these units, and its predictions.

    Flat columns keep their units only if columns hang together, given y.
    """
    units, without_flat = single_threaded(lambda: (Units.of(x), Units.of(x, keep_flat=False)))
    seen = units.forward(x[:, fitted])
    regression, predicted = _regress_on(regressor, seen.T)
    if torch.equal(units.kept, without_flat.kept) or _hang_together(seen, predicted.T):
        return units, regression, predicted
    return without_flat, *_regress_on(regressor, without_flat.forward(x[:, fitted]).T)


def _regress_on(regressor: Regressor, x: Tensor) -> tuple[Regression, Tensor]:
    """Return the regression of μ, log σ² and products of x, (n, d).

    Also returns the predictions for each row by a fit without it.
    """
    means, mean = regressor.fit(x)
    variances, log_variance = regressor.fit(single_threaded(lambda: _log_squares(x - mean)))
    u = (x - mean) * (-log_variance / 2).exp()
    products = single_threaded(lambda: _products(u))
    regression, product = regressor.fit(products)
    best = single_threaded(lambda: _best_predicted(products, product))
    joined = Regression.joined([means, variances, regression @ best])
    return joined, torch.cat([mean, log_variance, product @ best], dim=1)


def _hang_together(x: Tensor, predicted: Tensor) -> bool:
    """Return whether residuals of different columns depend on each other, given y."""
    d = len(x)
    if d == 1:
        return False
    if len(predicted) > 2 * d:  # y predicts products
        return True
    correlation = single_threaded(lambda: torch.corrcoef(_seen(x, predicted)[:d]))
    return bool((correlation - torch.eye(d)).abs().max() > MIN_CORRELATION)


def _log_squares(residuals: Tensor) -> Tensor:
    """Return the logarithms of squared residuals, (n, d), none of which is too small."""
    floor = (1e-3 * residuals.var(dim=0)).clamp(min=TINY)
    return (residuals.square() + floor).log()


def _products(u: Tensor) -> Tensor:
    """Return the products of residuals, (n, d), along their principal axes, standardised."""
    along = u @ torch.linalg.eigh(_covariance(u)).eigenvectors[:, -MAX_AXES:]
    i, j = torch.triu_indices(along.shape[1], along.shape[1])
    products = along[:, i] * along[:, j]
    products = (products - products.mean(dim=0)) / products.std(dim=0).clamp(min=TINY)
    clipped: Tensor = products.clamp(-MAX_PRODUCT, MAX_PRODUCT)
    return clipped


def _best_predicted(targets: Tensor, predicted: Tensor) -> Tensor:
    """Return combinations of targets, (T, K), of variance 1, most of which is predicted."""
    total = _covariance(targets) + 1e-3 * torch.eye(targets.shape[1])
    whitening = torch.linalg.inv(torch.linalg.cholesky(total))
    explained = whitening @ _covariance(predicted) @ whitening.T
    shares, combinations = torch.linalg.eigh(explained)
    kept = (shares > MIN_PREDICTED).nonzero().squeeze(1)[-MAX_PRODUCTS:]
    best: Tensor = whitening.T @ combinations[:, kept]
    return best


def _covariance(rows: Tensor) -> Tensor:
    """Return the covariance of rows (n, d), with shape (d, d) also if d is 1."""
    return rows.T.cov().reshape(rows.shape[1], rows.shape[1])
