"""Orthonormal directions: their properties, and against the dense matrices they stand for."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sliceflow.core._random import Draw, Random
from sliceflow.directions import Bands, Rotation, Tiles, spectral_axes, tile_sides

FLOAT64 = torch.empty(0, dtype=torch.float64)


def random(seed):
    return Random(seed, Draw.DIRECTIONS)


@st.composite
def tiles(draw):
    """Draw directions in tiles with a basis of either kind, with and without conditions."""
    channels, *sides = (draw(st.integers(*ends)) for ends in ((1, 3), (2, 9), (2, 9)))
    patch = draw(st.integers(1, max(sides)))
    p = channels * math.prod(tile_sides((channels, *sides), patch))
    bands = Bands(Rotation(p).draw(random(0)), draw(st.integers(1, p)))
    basis = draw(st.sampled_from([Rotation(p), bands]))
    shared, l = draw(st.booleans()), draw(st.integers(0, 3))
    return Tiles((channels, *sides), patch, basis, shared, l, draw(st.floats(0, 20)))


def drawn(directions, seed):
    return directions.draw(random(seed), FLOAT64)


def dense(A, directions):
    """Return the rows θ_x of all directions as a matrix, tile by tile: what they do to a basis."""
    d = int(np.prod(directions.shape))
    unit = torch.cat([torch.eye(d, dtype=torch.float64), torch.zeros(directions.l, d).double()])
    p = A.theta.shape[0]
    blocks = [theta.project(unit) for theta in A.blocks(10**9)]
    return torch.cat([z.view(p, -1, d).transpose(0, 1).reshape(-1, d) for z in blocks])


@given(directions=tiles(), seed=st.integers(0, 10**6))
def test_directions_are_orthonormal(directions, seed):
    W = dense(drawn(directions, seed), directions)
    torch.testing.assert_close(W @ W.T, torch.eye(len(W), dtype=torch.float64), atol=1e-5, rtol=0)


@given(directions=tiles(), seed=st.integers(0, 10**6))
def test_tiles_are_disjoint_squares(directions, seed):
    """Each has all channels of S neighbouring rows and columns, around the border if need be.

    Where x is not as wide, all of it.
    """
    channels, height, width = directions.shape
    coordinates = drawn(directions, seed).coordinates
    a, b = tile_sides(directions.shape, directions.patch)
    assert len(coordinates) == (height // a) * (width // b)
    assert len(coordinates.unique()) == coordinates.numel()
    for tile in coordinates:
        channel, row, column = np.unravel_index(tile.numpy(), directions.shape)
        for line, side, patch in ((row, height, a), (column, width, b)):
            first = [i for i in set(line) if (i - 1) % side not in set(line)]
            assert len(set(line)) == patch
            assert len(first) == (patch < side)
        assert set(channel) == set(range(channels))


@given(d=st.integers(2, 30), patch=st.integers(1, 9), seed=st.integers(0, 10**6))
def test_tiles_of_a_table_are_disjoint_columns(d, patch, seed):
    directions = Tiles((d,), min(patch, d), Rotation(min(patch, d)))
    A = drawn(directions, seed)
    assert A.coordinates.shape == (d // directions.patch, directions.patch)
    assert len(A.coordinates.unique()) == A.coordinates.numel()
    W = dense(A, directions)
    torch.testing.assert_close(W @ W.T, torch.eye(len(W), dtype=torch.float64), atol=1e-5, rtol=0)


@given(directions=tiles(), seed=st.integers(0, 10**6), m=st.integers(1, 5))
def test_lift_is_the_adjoint_of_project(directions, seed, m):
    """On x; the condition is projected, but not moved."""
    A, d = drawn(directions, seed), int(np.prod(directions.shape))
    rng = torch.Generator().manual_seed(seed)
    u = torch.randn(d + directions.l, m, generator=rng, dtype=torch.float64)
    u[d:] = 0
    for theta in A.blocks(m):
        z = theta.project(u)
        v, moved = torch.randn(z.shape, generator=rng, dtype=torch.float64), torch.zeros_like(u)
        theta.lift(v, moved, weight=2.0)
        torch.testing.assert_close(2 * (z * v).sum(), (u * moved).sum())
        assert not moved[d:].any()


@given(directions=tiles(), seed=st.integers(0, 10**6))
def test_conditions_enter_all_tiles_alike(directions, seed):
    A, d = drawn(directions, seed), int(np.prod(directions.shape))
    p, l = len(A.theta), directions.l
    y = torch.cat([torch.zeros(d, l), torch.eye(l)]).double()
    for theta in A.blocks(10):
        n = len(theta.coordinates)
        z = theta.project(y)
        by_tile = z.view(p, n, l).transpose(0, 1) if directions.shared else z.view(n, p, l)
        torch.testing.assert_close(by_tile, A.theta[:, p:].expand(n, p, l))


def test_offsets_reach_every_coordinate_as_often():
    directions = Tiles((1, 7, 7), 3, Rotation(9))
    seen = torch.cat([drawn(directions, seed).coordinates.flatten() for seed in range(4000)])
    assert seen.bincount().float().div(4000 * 36 / 49).sub(1).abs().amax() < 0.1


def test_one_tile_is_all_of_x():
    A = Tiles((5,), None, Rotation(5), l=2, amplifier=3.0).draw(random(0), FLOAT64)
    theta = A.lift(torch.eye(5, dtype=torch.float64)).T
    torch.testing.assert_close(theta[:, :5] @ theta[:, :5].T, torch.eye(5, dtype=torch.float64))
    torch.testing.assert_close(theta[:, 5:].norm(dim=1), torch.full((5,), 3.0).double())


def test_rotations_are_uniform():
    """Every entry of a uniform orthogonal matrix has mean 0 and variance 1/p."""
    entries = torch.stack([Rotation(4).draw(random(i)) for i in range(3000)])
    torch.testing.assert_close(entries.mean(dim=0), torch.zeros(4, 4).double(), atol=0.05, rtol=0)
    torch.testing.assert_close(
        entries.var(dim=0), torch.full((4, 4), 0.25).double(), atol=0.03, rtol=0
    )


@pytest.mark.parametrize("patch", [None, 3])
def test_spectral_axes_are_the_patches_principal_axes(patch):
    """Against the covariance of all patches, cut out one by one."""
    x = torch.randn(2, 6, 6, 40, generator=torch.Generator().manual_seed(0)).double().cumsum(dim=2)
    s = patch or 6
    patches = [x[:, i : i + s, j : j + s].flatten(0, 2)
               for i in range(7 - s) for j in range(7 - s)]  # fmt: skip
    covariance = torch.cat(patches, dim=1).cov(correction=0)
    axes = spectral_axes(x.reshape(72, 40), (2, 6, 6), patch)
    values = (axes @ covariance @ axes.T).diagonal()
    torch.testing.assert_close(axes @ axes.T, torch.eye(len(axes)).double())
    torch.testing.assert_close(values, torch.linalg.eigvalsh(covariance).flip(0))


@pytest.mark.parametrize("band", [1, 2, 5])
def test_bands_stay_among_their_neighbours(band):
    axes = Rotation(6).draw(random(0))
    mix = Bands(axes, band).draw(random(1)) @ axes.T
    near = torch.arange(6) // band
    torch.testing.assert_close(mix[near[:, None] != near], torch.zeros(()).double().expand(
        int((near[:, None] != near).sum())))  # fmt: skip
    if band == 1:
        torch.testing.assert_close(mix, torch.eye(6).double())
