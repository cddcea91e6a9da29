"""What y predicts of x: means, variances, sizes of residuals with two modes, and products."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from sliceflow.codec._modes import NO_MODES, Modes, have_two
from sliceflow.codec._regression import Regression, Regressor
from sliceflow.core._threads import single_threaded

MIN_BEND = 0.1
"""By which part kernels must lessen the squared errors of linear means.

Where a mean bends a little, as at the ends of a column, residuals keep their shape only if the
prediction does not.
"""

MAX_AXES, MAX_PRODUCTS = 10, 10
"""Products are those of at most this many principal axes, and at most this many are predicted."""

MIN_PREDICTED = 0.02
"""Minimum share of the variance of a product that y must predict."""

MAX_PRODUCT = 4.0
"""Products of residuals are clipped to this many standard deviations."""

MIN_CORRELATION = 0.3
"""From this correlation on, residuals of two columns count as correlated."""

TINY = 1e-12
"""Minimum variance or deviation, for an x that y determines."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Predictions of the moments of x, given y.

    Parameters
    ----------
    modes
        The residuals with two modes, F of them.
    regression
        Predicts the mean and log σ² of each column of x, the sizes of residuals with two modes, and
        products of residuals.
    predicted
        The predictions for each row, by fits without it, (T, n).
    residuals
        x − μ(y) of each row, (d, n).
    """

    modes: Modes
    regression: Regression
    predicted: Tensor
    residuals: Tensor

    @classmethod
    def of(cls, regressor: Regressor, x: Tensor) -> Self:
        """Predict the moments of x, (d, n)."""
        means, mean = regressor.boost(x.T, MIN_BEND)
        residuals = closed = x - mean.T
        variances, log_variance = _log_variances(regressor, closed)
        none = x.new_empty(len(x), 0)
        modes, sizes, size = NO_MODES, means @ none, mean[:, :0]  # a regression of no targets
        columns = single_threaded(lambda: have_two(residuals, log_variance.T))
        if len(columns):
            sizes, size = regressor.fit(residuals[columns].abs().T)
            modes = single_threaded(lambda: Modes.of(columns, residuals, size.T))
            closed = modes.close(residuals, size.T)
            variances, log_variance = _log_variances(regressor, closed)
        products, product = _best_products(regressor, closed.T * (-log_variance / 2).exp())
        regression = Regression.joined([means, variances, sizes, products])
        predicted = torch.cat([mean, log_variance, size, product], dim=1).T
        return cls(modes, regression, predicted, residuals)

    def predicts_products(self) -> bool:
        """Return whether there are products that y predicts."""
        return len(self.predicted) > 2 * len(self.residuals) + len(self.modes.columns)

    def are_correlated(self) -> bool:
        """Return whether residuals of different columns are correlated."""
        d = len(self.residuals)
        if d == 1:
            return False
        correlation = single_threaded(lambda: torch.corrcoef(self.residuals))
        return bool((correlation - torch.eye(d)).abs().max() > MIN_CORRELATION)

    def principal_axes(self) -> Tensor:
        """Return the principal axes of residuals, as columns, (d, d)."""
        return single_threaded(lambda: _axes(self.residuals.T))


def _log_variances(regressor: Regressor, residuals: Tensor) -> tuple[Regression, Tensor]:
    """Return the regression of log σ² of residuals, (d, n)."""
    return regressor.boost(single_threaded(lambda: _log_squares(residuals.T)))


def _best_products(regressor: Regressor, u: Tensor) -> tuple[Regression, Tensor]:
    """Return the regression of the products of standardised residuals, (n, d), that y predicts."""
    products = single_threaded(lambda: _products(u))
    regression, predicted = regressor.fit(products)
    best = single_threaded(lambda: _best_predicted(products, predicted))
    return regression @ best, predicted @ best


def _log_squares(residuals: Tensor) -> Tensor:
    """Return the logarithms of squared residuals, (n, d), none of which is too small."""
    floor = (1e-3 * residuals.var(dim=0)).clamp(min=TINY)
    return (residuals.square() + floor).log()


def _products(u: Tensor) -> Tensor:
    """Return the products of residuals, (n, d), along their principal axes, standardised."""
    along = u @ _axes(u)[:, -MAX_AXES:]
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


def _axes(rows: Tensor) -> Tensor:
    """Return the principal axes of rows (n, d), as columns."""
    axes: Tensor = torch.linalg.eigh(_covariance(rows)).eigenvectors
    return axes


def _covariance(rows: Tensor) -> Tensor:
    """Return the covariance of rows (n, d), with shape (d, d) also if d is 1."""
    return rows.T.cov().reshape(rows.shape[1], rows.shape[1])
