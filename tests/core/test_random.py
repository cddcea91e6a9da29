"""Our own draws: what they are like, and that they never change."""

import hashlib
from statistics import NormalDist

import numpy as np
import pytest
import torch
from scipy import special, stats

from sliceflow.core._random import NORMAL_CHUNK, Draw, NumPyRandom, Random, normal_quantile

ALL = 2**32


def random(seed=0):
    return Random(seed, Draw.START, stage=1, step=2)


def digest(x):
    return hashlib.sha256(x.tobytes()).hexdigest()[:16]


def words():
    """Return some of all integers of 32 bits, with both ends, the middle and where tails begin."""
    places = np.array([0, 0.075, 0.5, 0.925, 1]) * ALL
    near = (places.astype(int)[:, None] + np.arange(-200, 200)).clip(0, ALL - 1)
    return np.append(near, np.arange(0, ALL, 99_991)).astype(np.uint32)


def test_quantiles_are_those_of_scipy():
    k = words()
    np.testing.assert_allclose(normal_quantile(k), special.ndtri((k + 0.5) / ALL), rtol=1.2e-7)


def test_quantiles_are_symmetric_rise_and_end():
    k = np.unique(words())
    x = normal_quantile(k)
    assert np.array_equal(normal_quantile(ALL - 1 - k), -x)
    assert (np.diff(x[np.append(True, np.diff(k) > 1000)]) > 0).all()
    assert 6.3 < x.max() < 6.34


def test_normal_numbers_are_normal():
    x = random().normal((400_000,)).astype(float)
    assert stats.kstest(x, "norm").pvalue > 0.01
    for power, moment in enumerate([0, 1, 0, 3, 0, 15], start=1):
        mean, error = (x**power).mean(), (x**power).std() / len(x) ** 0.5
        assert abs(mean - moment) < 4 * error
    assert abs(np.corrcoef(x[::2], x[1::2])[0, 1]) < 4 / len(x) ** 0.5  # halves of one integer


@pytest.mark.parametrize("m", [1, 2, 7, NORMAL_CHUNK // 3 + 5])
def test_the_first_particles_are_the_same_however_many_there_are(m):
    whole = random().particles(torch.empty(3, NORMAL_CHUNK))
    assert torch.equal(random().particles(torch.empty(3, m)), whole[:, :m])


def test_dtypes_differ_by_rounding_alone():
    x = random().normal((5, 4), np.float64)
    assert x.dtype == np.float64
    assert np.array_equal(random().normal((5, 4)), x.astype(np.float32))


def test_uniform_numbers_are_uniform():
    u = random().uniform(400_000)
    assert stats.kstest(u, "uniform").pvalue > 0.01
    assert u.min() >= 0
    assert u.max() < 1


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_integers_are_all_as_frequent(n):
    counts = np.bincount(random().integers(n, 400_000), minlength=n)
    assert len(counts) == n
    assert n == 1 or stats.chisquare(counts).pvalue > 0.01


def test_one_integer_is_the_first_of_many():
    assert random().integer(1000) == random().integers(1000, 5)[0]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 64, 65, 10_000])
def test_a_permutation_has_each_number_once(n):
    assert np.array_equal(np.sort(random().permutation(n)), np.arange(n))
    assert np.array_equal(random().subset(n, n // 2), random().permutation(n)[: n // 2])


def test_every_order_is_as_frequent():
    orders = [tuple(random(seed).permutation(4)) for seed in range(4800)]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 0.01


def test_how_draws_are_made():
    """From the integers of PCG64, in plain Python."""
    raws = np.random.PCG64((0, 1, 2, Draw.START)).random_raw(10).tolist()
    words = [word for raw in raws for word in (raw % ALL, raw // ALL)]
    assert random().uniform(19).tolist() == [word / ALL for word in words[:19]]
    assert random().integers(1000, 10).tolist() == [1000 * (raw >> 11) >> 53 for raw in raws]
    assert random().permutation(10).tolist() == sorted(range(10), key=lambda i: raws[i])
    normal = [NormalDist().inv_cdf((word + 0.5) / ALL) for word in words[:19]]
    np.testing.assert_allclose(random().normal((19,)), normal, rtol=3e-7)


def test_draws_never_change():
    """Model files have seeds, not directions: with other bits here, their samples are wrong."""
    drawn = {
        "uniform": random().uniform(100_000),
        "integers": random().integers(1000, 100_000),
        "permutation": random().permutation(100_000),
        "subset": random().subset(100_000, 1000),
        "normal": random().normal((100_000,)),
        "normal64": random().normal((100_000,), np.float64),
    }
    assert {name: digest(x) for name, x in drawn.items()} == {
        "uniform": "71cca678c6b50717",
        "integers": "31eca24d62bdf18a",
        "permutation": "4b6a0bb4db51dd2c",
        "subset": "38cca68574b4241e",
        "normal": "60723941d3eeb223",
        "normal64": "bb0d12c4fdd82646",
    }


def test_what_a_draw_depends_on():
    keys = (0, Draw.START), (1, Draw.START), (0, Draw.NOISE), (0, Draw.START, 1)
    assert len({Random(*key).integer(2**50) for key in [*keys, (0, Draw.START, 0, 1)]}) == 5


def test_draws_of_version_1_are_those_of_numpy():
    ours, theirs = NumPyRandom(3, Draw.AXES, 1, 2), np.random.default_rng((3, 1, 2, Draw.AXES))
    assert NumPyRandom.is_unchanged()
    for n in (2, 5, 28):
        assert ours.integer(n) == theirs.integers(n)
        assert np.array_equal(ours.integers(n, 3), theirs.integers(n, size=3))
        assert np.array_equal(ours.normal((n, 3)), theirs.standard_normal((n, 3), np.float32))
        assert np.array_equal(ours.normal((n,), np.float64), theirs.standard_normal(n))
