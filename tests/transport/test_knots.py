"""Maps of few knots, for particles that they were not made from."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_histogram import DISTRIBUTIONS, cauchy, displacement, drawn, gaussian, name_of, samples

from sliceflow.transport import HistogramMap, KnotMap, Values
from sliceflow.transport._histogram import Counted
from sliceflow.transport._knots import MIN_VALUES_PER_PART, part_ends


@pytest.mark.parametrize(
    "distribution", [each for each in DISTRIBUTIONS if each is not cauchy], ids=name_of
)
def test_means_of_parts(distribution):
    """To a part of a cell; the outermost cells of a Cauchy distribution are too wide for that."""
    values = drawn(distribution, 0, 3000)
    ours = Counted.of(Values.of(values), 512).means(torch.linspace(0, 1, 5, dtype=torch.float64))
    parts = np.split(np.sort(values.numpy()), 4, axis=1)
    for mean, part in zip(ours.T.numpy(), parts, strict=True):
        assert (np.abs(mean - part.mean(axis=1)) <= 0.01 * np.ptp(part, axis=1) + 1e-3).all()


def between(p, q, parts=128):
    return HistogramMap.between(p, q).by_knots(parts)


@pytest.mark.parametrize("parts", [2, 6, 32, 100])
def test_it_is_numpys_interpolation(parts):
    T = between(drawn(gaussian, 0, 3000), drawn(gaussian, 1, 3000), parts)
    z = drawn(gaussian, 2, 2100) * 2
    rows = zip(*(t.numpy() for t in (displacement(T, z), z, T.x, T.x + T.move_by)), strict=True)
    for ours, row, x, y in rows:
        np.testing.assert_allclose(ours, np.interp(row, x, y) - row, atol=1e-5)


@given(p=samples(), q=samples())
def test_compiled_or_not_bits_are_the_same(p, q):
    T, z = between(p, q), torch.linspace(-2, 2, 500).expand(2, -1) * p.abs().amax()
    not_contiguous = z.repeat_interleave(2, dim=1)[:, ::2]
    T.displace_(not_contiguous)
    assert torch.equal(displacement(T, z.contiguous()), not_contiguous)


@given(p=samples(), q=samples(), parts=st.integers(2, 70))
def test_compiled_or_not_knots_are_the_same(p, q, parts):
    T = HistogramMap.between(p, q)
    twice = replace(T, start=T.start.repeat(1, 2)[:, ::2])  # not contiguous: by PyTorch
    ours, theirs = T.by_knots(parts), twice.by_knots(parts)
    assert torch.equal(ours.x, theirs.x)
    assert torch.equal(ours.move_by, theirs.move_by)


@pytest.mark.parametrize("bits", [8, 16, 32])
@given(p=samples(), q=samples())
def test_packed_or_not_bits_are_the_same(bits, p, q):
    T, z = between(p, q).packed(bits), torch.linspace(-2, 2, 500).expand(2, -1) * p.abs().amax()
    assert torch.equal(displacement(T, z.contiguous()), displacement(T.unpacked(), z.contiguous()))


def test_positions_close_together_stay_precise_in_a_byte_each():
    """Labels move groups of values far apart: a byte each would not tell the values of one."""
    x = (10 * torch.arange(5)[:, None] + torch.linspace(0, 0.1, 6)).reshape(1, -1)
    T = KnotMap(x, torch.sin(x)).packed(8).unpacked()
    assert (T.x - x).abs().max() < 2e-3
    assert (T.move_by - torch.sin(x)).abs().max() < 2 / 255


@pytest.mark.parametrize("contiguous", [True, False])
def test_a_jump_between_two_knots_at_one_place_is_finite(contiguous):
    """Its slope is infinite, and zero times that is not a number."""
    T = KnotMap(torch.tensor([[0.0, 1, 1, 2]]), torch.tensor([[0.0, 0, -1e10, -1e10]]))
    z = torch.tensor([[-1.0, 0, 0.5, 1, 1.5, 2, 3]])
    z = z.contiguous() if contiguous else z.repeat_interleave(2, dim=1)[:, ::2]
    T.displace_(z)
    assert z.isfinite().all()


@given(p=samples(), q=samples())
def test_it_is_monotone_and_stays_between_the_extremes(p, q):
    z = torch.linspace(-2, 2, 500).expand(2, -1) * p.abs().amax()
    mapped = displacement(between(p, q), z).double() + z.double()
    slack = 1e-5 * (mapped.abs().amax() + z.abs().amax())  # of subtracting z and adding it again
    assert (mapped.diff(dim=1) >= -slack).all()
    assert (mapped >= q.amin(dim=1, keepdim=True) - slack).all()
    assert (mapped <= q.amax(dim=1, keepdim=True) + slack).all()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=name_of)
def test_more_knots_come_nearer_to_the_map(distribution):
    p, q = drawn(gaussian, 0, 5000), drawn(distribution, 1, 5000)
    T = HistogramMap.between(p, q)
    inner = p.sort(dim=1).values[:, 100:-100].contiguous()
    few, many = (
        (displacement(T.by_knots(parts), inner) - displacement(T, inner)).abs().mean()
        for parts in (16, 256)
    )
    assert many < 0.5 * few


@given(parts=st.integers(2, 300), n=st.integers(2, 10**6))
def test_parts_are_large_enough(parts, n):
    ends = part_ends(parts, n)
    assert ends[0] == 0
    assert ends[-1] == 1
    assert len(ends) - 1 == max(2, min(parts, n // MIN_VALUES_PER_PART))
    assert (n * ends.diff() > min(MIN_VALUES_PER_PART, n / 2) - 1e-6).all()


def test_tails_keep_their_spread():
    """In a heavy tail few values have much of the variance: what is lost there adds up."""
    p, new = drawn(gaussian, 0, 10_000), drawn(gaussian, 1, 10_000)
    mapped = displacement(between(p, p**3, 64), new) + new
    assert mapped.square().mean() > 0.97 * (new**3).square().mean()


def test_chance_moves_others_less():
    """Between two samples of one distribution the right map is none at all."""
    p, q, new = (drawn(gaussian, seed, 2000) for seed in range(3))
    T = HistogramMap.between(p, q)
    ours, theirs = (displacement(S, new).square().mean() for S in (T.by_knots(16), T))
    assert ours < 0.8 * theirs


@pytest.mark.parametrize("parts", [2, 6, 32, 100])
def test_values_that_are_no_numbers_stay_by_themselves(parts):
    """They read nothing beyond the knots, and others move as they would without them."""
    T = between(drawn(gaussian, 0, 3000), drawn(gaussian, 1, 3000), parts)
    z = drawn(gaussian, 2, 500)
    odd = z.clone()
    odd[:, :3] = torch.tensor([torch.inf, -torch.inf, torch.nan])
    moved = displacement(T, odd)
    assert torch.equal(moved[:, 3:], displacement(T, z)[:, 3:])
    assert not moved[:, :3].isfinite().any()
