"""Calibration: known answers for samples that are right, too narrow and too wide."""

import numpy as np
import pytest

from sliceflow.metrics import calibration_ranks, crps, interval_coverage

RNG = np.random.default_rng(0)
N, M = 4000, 399


def drawn(spread):
    """Return values of deviation 1, and samples of this deviation: (n, 2) and (n, m, 2)."""
    middle = RNG.normal(size=(N, 1, 2))
    x = middle[:, 0] + RNG.normal(size=(N, 2))
    return x, middle + spread * RNG.normal(size=(N, M, 2))


def test_ranks_of_right_samples_are_equally_frequent():
    ranks = calibration_ranks(*drawn(1.0))
    counts = np.histogram(ranks, bins=10, range=(0, M + 1))[0]
    assert ranks.min() == 0
    assert ranks.max() == M
    assert np.abs(counts / counts.mean() - 1).max() < 0.12


@pytest.mark.parametrize(("spread", "more"), [(0.5, True), (2.0, False)])
def test_ranks_show_samples_that_are_too_narrow_or_too_wide(spread, more):
    ranks = calibration_ranks(*drawn(spread))
    outer = np.mean((ranks < 40) | (ranks >= 360))
    assert (outer > 0.3) if more else (outer < 0.1)


def test_a_value_equal_to_samples_has_their_mean_rank():
    samples = np.array([0.0, 1, 1, 1, 2]).reshape(1, -1, 1)
    assert calibration_ranks(np.ones((1, 1)), samples).tolist() == [[2.5]]


@pytest.mark.parametrize(("spread", "share"), [(1.0, 0.9), (0.5, 0.589), (2.0, 0.999)])
def test_coverage_of_known_intervals(spread, share):
    """Of a Gaussian, 58.9 % are within half of its 90 % interval, and 99.9 % within twice."""
    covered = interval_coverage(*drawn(spread), [0.5, 0.9])
    assert covered.shape == (2, 2)
    np.testing.assert_allclose(covered[1], share, atol=0.025)


def test_coverage_of_right_samples_is_right_for_few_of_them():
    x, samples = drawn(1.0)
    np.testing.assert_allclose(interval_coverage(x, samples[:, :19], [0.9]), 0.9, atol=0.015)


def test_crps_of_a_gaussian_is_that_of_the_formula():
    """For a Gaussian at its own samples it is σ/√π."""
    x, samples = drawn(1.0)
    np.testing.assert_allclose(crps(x, samples), 1 / np.sqrt(np.pi), rtol=0.03)


def test_crps_is_the_mean_over_pairs():
    x, samples = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 7, 2))
    pairs = np.abs(samples[:, :, None] - samples[:, None]).sum(axis=(1, 2)) / (7 * 6)
    expected = np.abs(samples - x[:, None]).mean(axis=1) - pairs / 2
    np.testing.assert_allclose(crps(x, samples), expected.mean(axis=0))


def test_crps_of_one_number_is_its_absolute_error():
    assert crps(np.zeros((2, 1)), np.array([[[1.0]], [[-3.0]]])).tolist() == [2.0]


def test_missing_values_and_no_samples_are_refused():
    with pytest.raises(ValueError, match="NaN: drop these rows"):
        crps(np.zeros((1, 1)), np.full((1, 2, 1), np.nan))
    with pytest.raises(ValueError, match="no samples"):
        interval_coverage(np.zeros((3, 1)), np.zeros((3, 0, 1)), [0.9])


@pytest.mark.parametrize("shape", [(3, 2), (4, 5, 2), (3, 5, 1)])
def test_samples_of_other_rows_are_refused(shape):
    with pytest.raises(ValueError, match="m samples for each"):
        crps(np.zeros((3, 2)), np.zeros(shape))
