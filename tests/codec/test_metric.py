"""The metric of y: only what says something of x counts for a distance."""

import numpy as np
import pytest
import torch

from sliceflow.codec._metric import learned_metric
from sliceflow.codec._regression import CANDIDATES, MAX_METRIC, Regressor
from sliceflow.core._random import Draw, Random

RNG = np.random.default_rng(0)


def wave(n, l):
    """Return y with l columns, and x that depends on the difference of the first two."""
    y = RNG.normal(size=(n, l))
    x = np.sin(2 * (y[:, :1] - y[:, 1:2])) + 0.1 * RNG.normal(size=(n, 1))
    return torch.from_numpy(y), torch.from_numpy(x)


def test_only_directions_that_matter_count():
    y, x = wave(2000, 6)
    metric = learned_metric(y, x)
    lengths = [
        torch.linalg.vector_norm(torch.tensor(v).double() @ metric).item()
        for v in ([1, -1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0])
    ]
    assert lengths[0] > 10 * lengths[1]
    assert lengths[0] > 10 * lengths[2]


def test_distances_stay_as_large():
    y, x = wave(500, 4)
    assert (y @ learned_metric(y, x)).var(dim=0).sum().item() == pytest.approx(4)


def test_an_x_of_which_y_says_nothing():
    y = torch.from_numpy(RNG.normal(size=(300, 3)))
    for x in (torch.from_numpy(RNG.normal(size=(300, 2))), torch.zeros(300, 1).double()):
        assert learned_metric(y, x).isfinite().all()


def errors(y, x, candidates):
    _, without = Regressor(y, x, candidates, Random(0, Draw.CENTRES)).fit(x)
    return (x - without).std().item()


def test_predictions_are_better_with_it():
    y, x = wave(2000, 8)
    plain = tuple(candidate for candidate in CANDIDATES if not candidate.has_metric)
    assert errors(y, x, CANDIDATES) < 0.5 * errors(y, x, plain)


def test_many_columns_have_none():
    y, x = wave(200, MAX_METRIC + 1)
    regressor = Regressor(y, x, CANDIDATES, Random(0, Draw.CENTRES))
    assert not any(candidate.has_metric for candidate in regressor.candidates)
