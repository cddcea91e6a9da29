"""Maps for particles that they were not made from."""

import numpy as np
import pytest
import torch
from hypothesis import given
from test_histogram import DISTRIBUTIONS, cauchy, displacement, drawn, gaussian, samples

from sliceflow.transport import HistogramMap, with_calm_tails
from sliceflow.transport.histogram import Counted


@pytest.mark.parametrize(
    "law", [law for law in DISTRIBUTIONS if law is not cauchy], ids=lambda law: law.__name__
)
def test_means_of_parts(law):
    """To a part of a cell; the outermost cells of a Cauchy distribution are too wide for that."""
    values, ends = drawn(law, 0, 3000), torch.tensor([0, 0.1, 0.5, 1], dtype=torch.float64)
    ours = Counted.of(values, 512).means(ends)
    parts = np.split(np.sort(values.numpy()), [300, 1500], axis=1)
    for mean, part in zip(ours.T.numpy(), parts, strict=True):
        assert (np.abs(mean - part.mean(axis=1)) <= 0.01 * np.ptp(part, axis=1) + 1e-3).all()


@given(p=samples(), q=samples())
def test_it_is_monotone_and_stays_between_the_extremes(p, q):
    z = torch.linspace(-2, 2, 500).expand(2, -1) * p.abs().amax()
    T = with_calm_tails(HistogramMap.between(p, q, 64))
    mapped = displacement(T, z).double() + z.double()
    slack = 1e-5 * (mapped.abs().amax() + z.abs().amax())  # of subtracting z and adding it again
    assert (mapped.diff(dim=1) >= -slack).all()
    assert (mapped >= q.amin(dim=1, keepdim=True) - slack).all()
    assert (mapped <= q.amax(dim=1, keepdim=True) + slack).all()


@pytest.mark.parametrize("law", DISTRIBUTIONS, ids=lambda law: law.__name__)
def test_only_the_tails_change(law):
    p, q = drawn(gaussian, 0, 5000), drawn(law, 1, 5000)
    T = HistogramMap.between(p, q)
    inner = p.sort(dim=1).values[:, 300:-300].contiguous()
    assert torch.equal(displacement(with_calm_tails(T), inner), displacement(T, inner))


def test_tails_move_as_they_do_on_average():
    p, q = drawn(gaussian, 0, 5000), drawn(gaussian, 1, 5000)
    T = HistogramMap.between(p, q)
    tail = p.sort(dim=1).values[:, -250:].contiguous()
    ours, theirs = (displacement(S, tail).mean(dim=1) for S in (with_calm_tails(T), T))
    torch.testing.assert_close(ours, theirs, atol=0.02, rtol=0)


def test_tails_are_lines():
    p, q = drawn(gaussian, 0, 5000), drawn(gaussian, 1, 5000)
    T = with_calm_tails(HistogramMap.between(p, q))
    begin, end = p.quantile(torch.tensor([0.955, 0.995]), dim=1)[:, :, None]
    along = torch.lerp(begin, end, torch.linspace(0, 1, 100))
    assert displacement(T, along).diff(n=2, dim=1).abs().amax() < 1e-4


def test_chance_moves_others_less():
    """Between two samples of one law the right map is none at all."""
    p, q, new = (drawn(gaussian, seed, 2000) for seed in range(3))
    T = HistogramMap.between(p, q)
    ours, theirs = (displacement(S, new).square().mean() for S in (with_calm_tails(T), T))
    assert ours < 0.8 * theirs
