"""Normal scores: monotone, Gaussian, and back to the values."""

import numpy as np
import torch

from sliceflow.codec._scores import MAX_KNOTS, NormalScores

RNG = np.random.default_rng(0)


def scores(*columns):
    x = torch.from_numpy(np.stack(columns))
    return x, NormalScores.of(x)


def test_any_continuous_column_becomes_gaussian():
    x, fitted = scores(RNG.exponential(size=5000), RNG.uniform(size=5000))
    z = fitted.forward(x)
    assert z.mean(dim=1).abs().max() < 0.01
    assert (z.std(dim=1) - 1).abs().max() < 0.01
    assert torch.equal(z.argsort(dim=1), x.argsort(dim=1))


def test_values_come_back():
    for n in (2, 3, MAX_KNOTS - 1, MAX_KNOTS + 1, 5000):
        x, fitted = scores(RNG.exponential(size=n))
        torch.testing.assert_close(fitted.inverse(fitted.forward(x)), x)


def test_no_value_is_beyond_the_data():
    x, fitted = scores(RNG.uniform(size=300))
    far = torch.tensor([[-50.0, 50.0]])
    assert fitted.inverse(far).tolist() == [[x.min(), x.max()]]
    assert fitted.forward(far).abs().max() < 4


def test_equal_values_have_their_mean_score_and_come_back():
    x, fitted = scores(np.repeat([0.0, 1.0, 5.0], [500, 400, 100]))
    z = fitted.forward(x)
    assert len(z.unique()) == 3
    assert abs(float(z.mean())) < 0.01
    assert torch.equal(fitted.inverse(z), x)


def test_a_constant_column():
    x, fitted = scores(np.full(50, 7.0))
    assert torch.equal(fitted.inverse(fitted.forward(x)), x)
