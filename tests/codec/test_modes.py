"""Residuals with two modes: their gap is closed and opened again, and nothing lands in it."""

import numpy as np
import torch

from sliceflow import SlicedFlow
from sliceflow.codec._modes import Modes, have_two
from sliceflow.codec._residuals import Residuals

RNG = np.random.default_rng(0)
MODES = Modes(torch.tensor([1]), torch.tensor([[0.5]], dtype=torch.float64))


def test_a_closed_gap_opens_again():
    c = torch.from_numpy(RNG.normal(size=(2, 1000)))
    sizes = torch.from_numpy(RNG.uniform(0, 2, size=(1, 1000)))
    closed = MODES.close(c, sizes)
    torch.testing.assert_close(MODES.open(closed, sizes), c)
    assert torch.equal(closed[0], c[0])  # it has no second mode


def test_closing_keeps_the_order_of_values():
    c = torch.linspace(-3, 3, 100, dtype=torch.float64).expand(2, -1)
    closed = MODES.close(c, torch.full((1, 100), 2.0, dtype=torch.float64))
    assert (closed.diff(dim=1) > 0).all()
    assert closed[1].max() < 3 - 1.4  # the gap was 1.5 on each side


def test_only_sizes_close_to_their_prediction_are_two_modes():
    sign, angle = RNG.choice([-1, 1], size=4000), RNG.uniform(0, 2 * np.pi, size=4000)
    columns = [
        sign * RNG.normal(1, 0.1, size=4000),
        *(RNG.normal(size=4000), RNG.uniform(-1, 1, size=4000), np.sin(angle)),
    ]
    assert have_two(torch.from_numpy(np.stack(columns)), torch.zeros(4, 1)).tolist() == [0]


def test_two_modes_are_found_along_the_axes_of_residuals():
    """y tells |a + b|, and a − b: the modes are those of a + b."""
    sign, y = RNG.choice([-1, 1], size=2000), RNG.uniform(0, 2, size=2000)
    total, difference = sign * (1 + y) + RNG.normal(0, 0.1, 2000), RNG.normal(0, 0.1, 2000)
    z = np.stack([total + difference, total - difference, y])
    z = (z - z.mean(axis=1, keepdims=True)) / z.std(axis=1, keepdims=True)
    residuals, encoded = Residuals.fit(torch.from_numpy(z).float(), 2)
    assert residuals.modes.columns.tolist() == [1]
    np.testing.assert_allclose(residuals.frame.axes[:, 1].abs(), 0.5**0.5, atol=1e-2)
    np.testing.assert_allclose(residuals.inverse(encoded), z, atol=1e-4)


def test_no_sample_lies_between_two_modes():
    sign, y = RNG.choice([-1, 1], size=2000), RNG.uniform(-1, 1, size=2000)
    x = sign * (2 + y) + 0.1 * RNG.normal(size=2000)
    flow = SlicedFlow(schedule="quick", random_state=0).fit(x[:, None], y)
    for given in (-0.5, 0.0, 0.5):
        samples = flow.sample(1000, y=given, random_state=1)[:, 0]
        assert np.mean(np.abs(np.abs(samples) - 2 - given) > 0.5) < 0.01
        assert np.abs(np.mean(samples > 0) - 0.5) < 0.06
        assert 0.08 < (np.abs(samples) - 2 - given).std() < 0.13
