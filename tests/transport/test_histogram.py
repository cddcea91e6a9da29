"""Maps from counts: compiled and not, whole and in parts, and against the exact ones."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed import ReduceOp

from sliceflow.transport import (
    CELLS,
    HistogramMap,
    HistogramTransport,
    SortedMap,
    Values,
    _histogram,
)
from sliceflow.transport._histogram import STRIDE, Grid, count_cells, share_cells

M, N, H = 10_000, 20_000, 8


def gaussian(rng, n):
    return rng.normal(1.0, 2.0, (H, n))


def uniform(rng, n):
    return rng.random((H, n))


def bimodal(rng, n):
    return 0.3 * rng.normal(size=(H, n)) + rng.choice([-2, 2], (H, n))


def cauchy(rng, n):
    return rng.standard_cauchy((H, n))


def atomic(rng, n):
    """Half of the mass on one value, as the background of digits."""
    return np.where(rng.random((H, n)) < 0.5, 0.3, rng.normal(size=(H, n)))


def labelled(rng, n):
    """Ten classes, a label part of ξ = 10."""
    theta = np.random.default_rng(10).normal(size=(H, 10))
    theta *= 10 / np.linalg.norm(theta, axis=1, keepdims=True)
    return 0.5 * rng.normal(size=(H, n)) + theta[:, np.arange(n) % 10]


DISTRIBUTIONS = [gaussian, uniform, bimodal, cauchy, atomic, labelled]


def name_of(distribution):
    return distribution.__name__


def drawn(distribution, seed, n):
    return torch.from_numpy(distribution(np.random.default_rng(seed), n)).float().contiguous()


def displacement(T, z):
    z = z.clone()
    T.displace_(z)
    return z


def error(distribution, cells):
    """Return the mean absolute difference to the exact displacement, in standard deviations."""
    start = labelled if distribution is labelled else lambda rng, n: rng.normal(size=(H, n))
    p, q = drawn(start, 0, M), drawn(distribution, 1, N)
    ours, exact = (displacement(T, p) for T in (
        HistogramMap.between(p, q, cells), SortedMap.between(p, q)))  # fmt: skip
    return ((ours - exact).abs().mean(dim=1) / q.std(dim=1)).mean()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=name_of)
def test_it_is_the_exact_map_as_cells_shrink(distribution):
    coarse, middle, fine = (error(distribution, cells) for cells in (256, 1024, 4096))
    assert middle < 1e-3
    assert fine < 0.75 * middle < 0.75**2 * coarse


def test_heavy_tails_do_not_hide_the_core():
    """The ranks of a Cauchy distribution, whose largest value is thousands of times its core."""
    p, q = drawn(cauchy, 0, M), drawn(uniform, 1, N)
    exact = SortedMap.between(p, q)(p)
    assert (p + displacement(HistogramMap.between(p, q, 1024), p) - exact).abs().mean() < 5e-3


values = st.one_of(
    st.floats(-1e3, 1e3, width=32),
    st.sampled_from([0.0, 1.0, -0.0, 1e-20, 1e10, -1e10]),
)


@st.composite
def samples(draw):
    """Draw two rows of values of any size, with repetitions, far values and constants."""
    n = draw(st.integers(1, 3 * STRIDE))
    some = draw(st.lists(values, min_size=1, max_size=12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    z = rng.choice(np.array(some, dtype=np.float32), (2, n))
    if draw(st.booleans()):
        z += rng.normal(size=(2, n)).astype(np.float32)
    return torch.from_numpy(z)


def equal(T, S):
    pairs = zip(tables(T), tables(S), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def tables(T):
    counts = (T.p.counts, T.q.counts)
    return T.p.grid.low, T.p.grid.high, T.p.grid.slots, *counts, T.start, T.rise


@contextmanager
def interpreted():
    """Without the kernels: by the functions that run on any device."""
    with patch.object(_histogram, "is_compiled", return_value=False):
        yield


def agree(p, q, z, cells=CELLS):
    """Whether both make the same map and move by it alike, to the bit."""
    T = HistogramMap.between(p, q, cells)
    with interpreted():
        S = HistogramMap.between(p, q, cells)
        moved = displacement(S, z)
    return equal(T, S) and torch.equal(displacement(T, z), moved)


@given(p=samples(), q=samples(), z=samples(), cells=st.sampled_from([8, 64, 1024]))
def test_the_compiled_map_is_the_other_one(p, q, z, cells):
    assert agree(p, q, z, cells)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=name_of)
def test_the_compiled_map_is_the_other_one_at_full_size(distribution):
    p, q = drawn(gaussian, 0, 3000), drawn(distribution, 1, 7000)
    assert agree(p, q, p)


class Merging:
    """What many processes merge with, which are threads here: all wait until all have come."""

    def __init__(self, processes):
        self.values = []
        self.barrier = Barrier(processes, self.merge)

    def merge(self):
        tensors, ops = zip(*self.values, strict=True)
        reduce = {ReduceOp.MIN: torch.amin, ReduceOp.SUM: torch.sum}[ops[0]]
        merged = reduce(torch.stack(tensors), dim=0)
        for tensor in tensors:
            tensor.copy_(merged)
        self.values.clear()

    def __call__(self, tensor, op):
        self.values.append((tensor, op))
        self.barrier.wait()


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=name_of)
def test_many_processes_give_the_same_bits(distribution, processes):
    p, q = drawn(gaussian, 0, 3000), drawn(distribution, 1, 5000)
    shards = [[part.contiguous() for part in z.tensor_split(7, dim=1)] for z in (p, q)]

    merge = Merging(processes)

    def work(own):
        return HistogramMap.of(*(Values.of(*parts[own], merge=merge) for parts in shards))

    cuts = [slice(i * 7 // processes, (i + 1) * 7 // processes) for i in range(processes)]
    alone = HistogramMap.of(*(Values.of(*parts) for parts in shards))
    with ThreadPoolExecutor(processes) as threads:
        for together in threads.map(work, cuts):
            assert equal(together, alone)


@given(p=samples(), q=samples(), cells=st.sampled_from([8, 64, 1024]))
def test_it_is_monotone_and_stays_between_the_extremes(p, q, cells):
    z = torch.linspace(-2, 2, 500).expand(2, -1) * p.abs().amax()
    where = HistogramMap.between(p, q, cells)
    mapped = displacement(where, z).double() + z.double()
    slack = 1e-5 * (mapped.abs().amax() + z.abs().amax())  # of subtracting z and adding it again
    assert (mapped.diff(dim=1) >= -slack).all()
    assert (mapped >= q.amin(dim=1, keepdim=True) - slack).all()
    assert (mapped <= q.amax(dim=1, keepdim=True) + slack).all()


def mapped(p, q):
    return p + displacement(HistogramMap.between(p, q), p)


def test_constant_data():
    p, q = drawn(gaussian, 0, 1000), torch.full((H, 1000), 7.0)
    torch.testing.assert_close(mapped(p, q), q)
    assert mapped(q, p).isfinite().all()


def test_between_values_it_rises_evenly():
    """A particle that was not counted, far from those that were: as the exact map does it."""
    p = torch.cat([torch.linspace(0, 1, 500), torch.linspace(10, 11, 500)])[None]
    z = torch.tensor([[1.5, 3.25, 5.5, 9.5]])
    ours, exact = (T.between(p, 2 * p) for T in (HistogramMap, SortedMap))
    torch.testing.assert_close(z + displacement(ours, z), exact(z), atol=0.05, rtol=0)


def test_two_particles():
    p, q = torch.tensor([[0.0, 1.0]]), torch.tensor([[5.0, 9.0]])
    torch.testing.assert_close(mapped(p, q), q, atol=0.05, rtol=0)


def test_many_particles_to_two_rows():
    p, q = torch.randn(1, 3_000_000, generator=torch.Generator().manual_seed(0)), torch.eye(1, 2)
    low, high = mapped(p, q).aminmax()
    assert (low.abs() < 0.01) & ((high - 1).abs() < 0.01)


def test_cells_follow_the_values():
    """Half of the cells evenly, half by count: most of a bucket that holds all."""
    counts = torch.zeros(1, 8, dtype=torch.int32)
    counts[0, 5] = 100
    grid = Grid(torch.zeros(1), torch.ones(1), share_cells(counts, 64))
    assert grid.size[0].tolist() == [4] * 5 + [36] + [4] * 2
    assert len(grid) == 64
    torch.testing.assert_close(grid.edges()[0, :3], torch.tensor([0, 1 / 32, 1 / 16]).double())


def test_every_value_is_counted():
    z = drawn(cauchy, 0, 5000)
    low, high = z.aminmax(dim=1)
    even = torch.full((H, 8), 1, dtype=torch.int32)
    assert (count_cells(z, Grid(low, high, share_cells(even, 64))).sum(dim=1) == 5000).all()


def test_double_precision():
    p, q = drawn(gaussian, 0, 500).double(), drawn(uniform, 1, 700).double()
    ours = displacement(HistogramMap.between(p, q), p)
    exact = displacement(SortedMap.between(p, q), p)
    assert ours.dtype == torch.float64
    assert (ours - exact).abs().mean() < 2e-3


def test_values_that_are_no_numbers_do_no_harm():
    p = drawn(gaussian, 0, 100)
    p[:, 3], p[:, 5] = np.nan, np.inf
    for values in (p, p.double()):
        assert displacement(HistogramMap.between(values, values), values).shape == p.shape


def test_displacements_are_shrunk_by_their_noise():
    """Where p and q differ by chance alone, moving is an error; where they differ, it is not."""
    rng, mean_squares = np.random.default_rng(0), {}
    for shift in (0.0, 0.02, 1.0):
        p, q = rng.normal(size=(200, 2000)), rng.normal(shift, 1.0, size=(200, 1000))
        p, q = torch.from_numpy(p).float(), torch.from_numpy(q).float()
        for shrinks in (False, True):
            moved = p.clone()
            HistogramTransport(shrinks=shrinks).displace_(moved, Values.of(p), Values.of(q))
            mean_squares[shift, shrinks] = float((moved - shift).mean(dim=1).square().mean())
    assert mean_squares[0.0, True] < 0.7 * mean_squares[0.0, False]
    assert mean_squares[0.02, True] < mean_squares[0.02, False]
    assert mean_squares[1.0, True] == pytest.approx(mean_squares[1.0, False], rel=0.02)


def test_recorded_displacements_are_shrunk_alike():
    rng = np.random.default_rng(0)
    p, q = (torch.from_numpy(gaussian(rng, n)).float() for n in (500, 400))
    whole, shrunk = (
        HistogramTransport(shrinks=shrinks).displace_(p.clone(), Values.of(p), Values.of(q), 20)
        for shrinks in (False, True)
    )
    signal = HistogramMap.between(p, q).signal()
    assert ((signal >= 0) & (signal < 1)).all()
    assert torch.equal(shrunk.x, whole.x)
    assert torch.equal(shrunk.move_by, signal * whole.move_by)
