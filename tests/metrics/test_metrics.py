import numpy as np
import ot
import pytest

from sliceflow.core._random import Draw, Random
from sliceflow.metrics import sliced_wasserstein


@pytest.mark.parametrize("d", [1, 2, 7])
def test_sliced_wasserstein_is_pots(d):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, d)), rng.uniform(size=(300, d))
    theta = Random(5, Draw.DIRECTIONS).normal((64, d)).astype(float)
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    theirs = ot.sliced_wasserstein_distance(x, y, projections=theta.T)
    assert sliced_wasserstein(x, y, n_directions=64, seed=5) == pytest.approx(theirs, rel=1e-5)


def test_distance_to_itself_is_zero():
    x = np.random.default_rng(0).normal(size=(50, 3))
    assert sliced_wasserstein(x, x[::-1]) == 0


def test_shift_in_one_dimension():
    x = np.random.default_rng(0).normal(size=(50, 1))
    assert sliced_wasserstein(x, x + 3) == pytest.approx(3, rel=1e-6)


def test_different_sizes_name_the_fix():
    with pytest.raises(ValueError, match="pass equally many rows"):
        sliced_wasserstein(np.zeros((3, 2)), np.zeros((4, 2)))
