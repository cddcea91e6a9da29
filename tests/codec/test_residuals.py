"""Residuals of x given numbers: there and back, independent of y, and safe at the edges."""

import numpy as np
import pytest
import torch

from sliceflow.codec._residuals import Residuals

RNG = np.random.default_rng(0)


def particles(x, y):
    """Return columns (d + l, n), standardised."""
    z = np.concatenate([np.atleast_2d(x), np.atleast_2d(y)])
    z = (z - z.mean(axis=1, keepdims=True)) / z.std(axis=1, keepdims=True)
    return torch.from_numpy(z).float()


def growing(n=3000):
    """Return x whose mean and deviation depend on y."""
    y = RNG.uniform(-2, 2, size=n)
    return particles(y**2 + (1.5 + 0.5 * y) * RNG.normal(size=n), y)


@pytest.mark.parametrize("n", [2, 3, 10, 400])
def test_particles_come_back(n):
    y = RNG.normal(size=(2, n))
    z = particles(y[:1] + RNG.normal(size=(3, n)), y)
    residuals, encoded = Residuals.fit(z, 3)
    assert encoded.shape == (3 + residuals.n_summary + 3 + 2, n)
    np.testing.assert_allclose(residuals.inverse(encoded), z, atol=1e-5)


def test_new_particles_come_back_unless_their_residuals_are_beyond_all_others():
    y = RNG.normal(size=(2, 2000))
    z = particles(y[:1] + RNG.normal(size=(3, 2000)), y)
    residuals, _ = Residuals.fit(z[:, :1000], 3)
    back = residuals.inverse(residuals.forward(z[:, 1000:]))
    assert ((back - z[:, 1000:]).abs() < 1e-5).all(dim=0).double().mean() > 0.98


def test_residuals_have_one_mean_and_deviation_whatever_y_is():
    z = growing()
    _, encoded = Residuals.fit(z, 1)
    u, by_y = encoded[0].numpy(), np.array_split(np.argsort(z[1].numpy()), 5)
    assert max(abs(u[rows].mean()) for rows in by_y) < 0.1
    deviations = [u[rows].std() for rows in by_y]
    assert max(deviations) / min(deviations) < 1.3


def test_products_that_y_predicts_are_in_the_summary():
    """The sign of y is that of the correlation; means and deviations do not show it."""
    y, (a, b) = RNG.normal(size=3000), RNG.normal(size=(2, 3000))
    residuals, encoded = Residuals.fit(particles([a, np.sign(y) * a + b], y), 2)
    assert residuals.n_summary == 3
    assert abs(np.corrcoef(encoded[4], np.sign(y))[0, 1]) > 0.9


def test_a_summary_that_says_nothing_does_not_show_x():
    """Predictions without a row lean away from it; divided by their deviation, they show it."""
    residuals, encoded = Residuals.fit(particles(*RNG.normal(size=(2, 500))), 1)
    assert encoded[1].std() < 1
    assert residuals.n_summary == 1


def test_an_x_that_y_determines():
    y = RNG.normal(size=500)
    z = particles(2 * y, y)
    residuals, encoded = Residuals.fit(z, 1)
    np.testing.assert_allclose(residuals.inverse(encoded), z, atol=1e-4)


def test_predictions_far_from_the_data_stay_within_it():
    z = growing()
    residuals, _ = Residuals.fit(z, 1)
    far = residuals.forward(torch.tensor([[0.0, 0.0], [30.0, -30.0]]))
    assert far.isfinite().all()
    assert far[2].abs().max() < 10  # log σ²


def test_threads_do_not_change_bits():
    z, before = growing(600), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = Residuals.fit(z, 1)[1]
    finally:
        torch.set_num_threads(before)
    assert torch.equal(alone, Residuals.fit(z, 1)[1])
