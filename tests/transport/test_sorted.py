"""The one-dimensional map: worked examples, oracles, laws."""

import numpy as np
import oracles
import ot
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sliceflow.transport._sorted import SortedMap, cdf, quantile, sort


def row(*values):
    return torch.tensor([values], dtype=torch.float64)


class TestByHand:
    """Four values 0, 1, 3, 7: F rises by a quarter from each to the next."""

    z = row(0.0, 1.0, 3.0, 7.0)

    @pytest.mark.parametrize(
        ("value", "F"),
        [(0, 0), (0.5, 0.125), (1, 0.25), (2, 0.375), (3, 0.5), (4, 0.5625), (7, 0.75)],
    )
    def test_cdf(self, value, F):
        assert cdf(self.z, row(value)).item() == F

    @pytest.mark.parametrize(("value", "F"), [(-5, 0), (9, 0.75)])
    def test_cdf_outside(self, value, F):
        assert cdf(self.z, row(value)).item() == F

    @pytest.mark.parametrize(
        ("a", "value"), [(0, 0), (0.125, 0.5), (0.25, 1), (0.5625, 4), (0.75, 7), (0.9, 7)]
    )
    def test_quantile(self, a, value):
        assert quantile(self.z, row(a)).item() == value

    def test_ties_count_as_their_last(self):
        z = row(0.0, 2.0, 2.0, 2.0, 4.0)
        assert cdf(z, row(1.0, 2.0, 3.0)).tolist() == [[0.1, 0.6, 0.7]]

    def test_map_of_equal_sizes_pairs_the_order(self):
        T = SortedMap.between(row(3.0, 1.0, 2.0), row(10.0, 30.0, 20.0))
        assert T(row(3.0, 1.0, 2.0)).tolist() == [[30, 10, 20]]

    def test_map_of_two_onto_four(self):
        """F_p is 0 and 1/2 at the two particles: the first and the third of four values."""
        assert SortedMap.between(row(0.0, 1.0), self.z)(row(0.0, 1.0)).tolist() == [[0, 3]]

    def test_map_of_four_onto_two(self):
        """F_p is 0, 1/4, 1/2, 3/4; from 1/2 on F_q⁻¹ is at the last value."""
        assert SortedMap.between(self.z, row(0.0, 1.0))(self.z).tolist() == [[0, 0.5, 1, 1]]


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
@pytest.mark.parametrize("p_order", [1, 2])
def test_cost_is_the_wasserstein_distance(n, p_order):
    rng = np.random.default_rng(n)
    p, q = rng.standard_normal((5, n)), rng.standard_cauchy((5, n))
    T = SortedMap.between(torch.from_numpy(p), torch.from_numpy(q))
    cost = (T(torch.from_numpy(p)) - torch.from_numpy(p)).abs().pow(p_order).mean(dim=1)
    np.testing.assert_allclose(cost, ot.wasserstein_1d(p.T, q.T, p=p_order), rtol=1e-6)
    if p_order == 1:
        scipys = [scipy.stats.wasserstein_distance(a, b) for a, b in zip(p, q, strict=True)]
        np.testing.assert_allclose(cost, scipys, rtol=1e-6)


def test_cost_in_float32_is_the_wasserstein_distance():
    rng = np.random.default_rng(0)
    p, q = (rng.normal(mean, size=(5, 100_000)).astype(np.float32) for mean in (0, 1))
    T = SortedMap.between(torch.from_numpy(p), torch.from_numpy(q))
    cost = (T(torch.from_numpy(p)).double() - torch.from_numpy(p)).abs().mean(dim=1)
    exact = ot.wasserstein_1d(p.T.astype(np.float64), q.T.astype(np.float64), p=1)
    np.testing.assert_allclose(cost, exact, rtol=1e-6)


def test_known_distributions():
    """From normal to exponential samples: T must come near the map between these distributions."""
    rng = np.random.default_rng(0)
    p, q = (
        torch.from_numpy(a)[None] for a in (rng.normal(size=10**5), rng.exponential(size=10**5))
    )
    z = torch.linspace(-2, 2, 9, dtype=torch.float64)[None]
    exact = scipy.stats.expon.ppf(scipy.stats.norm.cdf(z))
    np.testing.assert_allclose(SortedMap.between(p, q)(z), exact, rtol=0.05, atol=0.01)


values = st.floats(-1e6, 1e6, width=32)


def rows(min_size=2):
    return arrays(np.float32, st.tuples(st.just(1), st.integers(min_size, 30)), elements=values)


few_values = arrays(np.float32, st.tuples(st.just(1), st.integers(2, 30)),
                    elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0]))  # fmt: skip
any_rows = st.one_of(rows(), few_values).map(torch.from_numpy)


@given(p=any_rows, q=any_rows, z=any_rows)
def test_map_is_the_oracles(p, q, z):
    p, q, z = p.double(), q.double(), z.double()
    ours = SortedMap.between(p, q)(z)
    theirs = [oracles.transport(p[0].tolist(), q[0].tolist(), value) for value in z[0].tolist()]
    np.testing.assert_allclose(ours[0], theirs, rtol=1e-9, atol=1e-6)


@given(p=any_rows, q=any_rows, z=any_rows)
def test_maps_are_monotone_and_stay_in_the_data(p, q, z):
    T = SortedMap.between(p, q)
    out = T(sort(z))
    assert (out.diff() >= 0).all()
    assert (out >= q.min()).all()
    assert (out <= q.max()).all()


@given(z=any_rows)
def test_quantile_inverts_cdf(z):
    z = sort(z.double())
    torch.testing.assert_close(quantile(z, cdf(z, z)), z)


@given(p=any_rows, q=any_rows)
def test_rows_do_not_meet(p, q):
    """Each direction has a map of its own, whatever stands in the other rows."""
    alone = SortedMap.between(p, q)(p)
    both = SortedMap.between(torch.cat([p, -2 * p]), torch.cat([q, q + 1]))
    assert torch.equal(both(torch.cat([p, p]))[:1], alone)


def test_sort_is_torchs():
    z = torch.randn(3, 50)
    assert torch.equal(sort(z), z.sort(dim=-1).values)


def test_other_devices_sort_for_themselves():
    """No such device is at hand; a meta tensor has no values, but cannot go through NumPy."""
    assert sort(torch.empty(3, 50, device="meta")).shape == (3, 50)


@pytest.mark.parametrize("n", [49, 98, 1000, 10_007])
def test_equal_sizes_pair_the_order_for_any_n(n):
    """Where (i/n)·n rounds below i too."""
    q = sort(torch.from_numpy(np.random.default_rng(n).standard_normal((20, n))).float())
    p = torch.arange(float(n)).expand(20, -1).contiguous()
    out = SortedMap(p, q)(p)
    assert (out.diff() >= 0).all()
    torch.testing.assert_close(out, q)


def test_ranks_beyond_the_integers_of_float32():
    n = 2**24 + 2
    z = torch.zeros(1, n)
    z[0, -1] = 1
    assert cdf(z, torch.ones(1, 1)).item() * n == pytest.approx(n - 1, abs=1e-6)


@pytest.mark.parametrize("m", [7, 14, 28, 49])
def test_the_map_is_monotone_where_interpolation_rounds_up(m):
    """low + f·(high − low) may exceed high by a bit; then the next value would be lower."""
    rng = np.random.default_rng(0)
    p, q = (sort(torch.from_numpy(rng.standard_normal((5000, m))).float()) for _ in "pq")
    below, above = (torch.nextafter(p, torch.tensor(end)) for end in (-9.0, 9.0))
    assert (SortedMap(p, q)(sort(torch.cat([p, below, above], dim=1))).diff() >= 0).all()
