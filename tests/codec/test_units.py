"""Units of columns: which keep their own, and that values come back."""

import numpy as np
import pytest
import torch

from sliceflow.codec._units import Units

RNG = np.random.default_rng(0)
N = 3000
KEPT = {
    "normal": RNG.normal(size=N),
    "uniform": RNG.uniform(size=N),
    "two clusters": RNG.choice([-3, 3], N) + RNG.normal(size=N),
}
SCORED = {
    "skewed": RNG.exponential(size=N),
    "heavy tails": RNG.standard_t(3, size=N),
    "one outlier": np.append(RNG.normal(size=N - 1), 1e4),
    "whole numbers": RNG.integers(6, size=N),
    "many zeros": np.maximum(RNG.normal(size=N), 0),
}


def standardised(column):
    column = np.asarray(column, dtype=float)
    return torch.from_numpy((column - column.mean()) / column.std())[None]


@pytest.mark.parametrize("name", KEPT | SCORED)
def test_units_that_are_kept(name):
    assert Units.of(standardised((KEPT | SCORED)[name])).kept.tolist() == [name in KEPT]


@pytest.mark.parametrize("name", KEPT | SCORED)
def test_values_come_back(name):
    x = standardised((KEPT | SCORED)[name])
    units = Units.of(x)
    torch.testing.assert_close(units.inverse(units.forward(x)), x)


@pytest.mark.parametrize("name", ["normal", "skewed"])
def test_no_value_is_beyond_the_data(name):
    x = standardised((KEPT | SCORED)[name])
    units = Units.of(x)
    far = units.inverse(torch.tensor([[-50.0, 50.0]]))
    assert ((far >= x.min()) & (far <= x.max())).all()


def test_what_is_just_beyond_the_data_does_not_pile_up():
    x = standardised(KEPT["uniform"])
    units, end = Units.of(x), x.max()
    beyond = torch.tensor([[0.1, 0.2]], dtype=torch.float64)
    torch.testing.assert_close(units.inverse(end + beyond), end - beyond)
