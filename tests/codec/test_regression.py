"""Stacked kernel ridges: closed forms against refits, and known functions."""

import numpy as np
import pytest
import torch
from scipy.optimize import nnls

from sliceflow.codec._regression import CANDIDATES, LINEAR, Regressor, stacked
from sliceflow.codec._ridge import Ridge
from sliceflow.core._random import Draw, Random

RNG = np.random.default_rng(0)


def regressor(y, x, candidates=CANDIDATES):
    return Regressor(torch.from_numpy(y), x, candidates, Random(0, Draw.CENTRES))


def test_leave_one_out_predictions_are_those_of_refits():
    features, target = RNG.normal(size=(30, 4)), RNG.normal(size=(30, 1))
    ridge = Ridge.of(torch.from_numpy(features))
    _, without = ridge.fit(torch.from_numpy(target))
    slopes = ridge.along.T @ torch.from_numpy(target) / 30
    penalty = ridge._penalties(slopes, torch.from_numpy(target)).item()
    for i in range(30):
        rows = np.arange(30) != i
        # Without a row, sums of squares are still divided by all 30.
        gram = features[rows].T @ features[rows] / 30 + penalty * np.eye(4)
        refit = np.linalg.solve(gram, features[rows].T @ target[rows] / 30)
        assert without[i, 0].item() == pytest.approx((features[i] @ refit).item())


def test_a_line_is_predicted_by_a_line():
    """Kernels would follow the noise where there are few rows."""
    y = RNG.normal(size=(2000, 2))
    x = y @ [[1.0], [-2.0]] + 0.5 * RNG.normal(size=(2000, 1))
    regression, without = regressor(y, torch.from_numpy(x)).fit(torch.from_numpy(x))
    far = torch.tensor([[3.0, 3.0], [-3.0, 3.0]], dtype=torch.float64)
    np.testing.assert_allclose(regression(far)[:, 0], [-3, -9], atol=0.15)
    assert np.std(x - without.numpy()) == pytest.approx(0.5, rel=0.05)


def test_what_y_does_not_tell_is_predicted_by_a_constant():
    """A line through noise would be wrong far out, where there are few rows."""
    y, x = RNG.normal(size=(2000, 2)), 3 + RNG.normal(size=(2000, 1))
    regression, _ = regressor(y, torch.from_numpy(x)).fit(torch.from_numpy(x))
    near, far = regression(torch.tensor([[0.0, 0.0], [5.0, -5.0]], dtype=torch.float64))[:, 0]
    assert near == far == pytest.approx(x.mean(), rel=1e-4)


def test_a_line_is_one_of_y_and_not_of_its_scores():
    """Scores are noisy far out, and flat beyond the rows."""
    y = RNG.normal(size=(2000, 1))
    x = torch.from_numpy(2 * y + RNG.normal(size=y.shape))
    regression, _ = regressor(y, x).fit(x)
    at = regression(torch.tensor([[0.0], [2.0], [4.0], [8.0]], dtype=torch.float64))[:, 0]
    np.testing.assert_allclose(at.diff(), [4, 4, 8], rtol=0.05)


def test_a_curve_is_predicted_much_better_than_by_a_line():
    y = RNG.uniform(-2, 2, size=(2000, 1))
    x = torch.from_numpy(np.sin(3 * y) + 0.1 * RNG.normal(size=y.shape))
    errors = [(x - regressor(y, x, c).fit(x)[1]).std().item() for c in (LINEAR, CANDIDATES)]
    assert errors[0] > 0.5
    assert errors[1] < 0.11


def test_what_is_expected_is_what_is_found_on_new_rows():
    def draw(n):
        y = RNG.normal(size=(n, 3))
        x = np.tanh(y[:, :1]) * np.tanh(y[:, 1:2]) + 0.3 * RNG.normal(size=(n, 1))
        return y, torch.from_numpy(x)

    y, x = draw(1000)
    regression, without = regressor(y, x).fit(x)
    new_y, new_x = draw(1000)
    expected, found = (x - without).std(), (new_x - regression(torch.from_numpy(new_y))).std()
    assert found.item() == pytest.approx(expected.item(), rel=0.15)


def test_weights_of_candidates_are_those_of_least_squares():
    errors = RNG.normal(size=(4, 300)) + RNG.normal(size=300)
    big = 1e4 * np.ones((1, 4))  # so that weights sum to 1
    expected, _ = nnls(np.concatenate([errors.T, big]), np.r_[np.zeros(300), 1e4])
    np.testing.assert_allclose(stacked(torch.from_numpy(errors)), expected, atol=1e-4)


def test_a_prediction_does_not_depend_on_other_rows():
    y = RNG.normal(size=(700, 2))
    x = torch.from_numpy(RNG.normal(size=(700, 3)))
    regression, _ = regressor(y, x).fit(x)
    rows = torch.from_numpy(y)
    assert torch.equal(regression(rows)[500:503], regression(rows[500:503]))
