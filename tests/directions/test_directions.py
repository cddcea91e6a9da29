"""Laws that hold for every distribution of directions, and local directions against dense ones."""

from dataclasses import replace

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sliceflow.core._random import Draw, Random
from sliceflow.directions import BLOCK_DIRECTIONS, Local, Sphere, slices
from sliceflow.directions._operator import PANEL
from sliceflow.directions._pyramid import FullSize, LanczosLevel, level_shape

FLOAT32, FLOAT64 = torch.empty(0), torch.empty(0, dtype=torch.float64)


@st.composite
def spheres(draw):
    d, l, amplifier = draw(st.integers(1, 600)), draw(st.integers(0, 5)), draw(st.floats(0, 20))
    return Sphere(d, 1, l, amplifier)


@st.composite
def locals_(draw):
    channels, h, w = draw(st.integers(1, 3)), draw(st.integers(1, 10)), draw(st.integers(1, 10))
    k = draw(st.integers(1, min(h, w)))
    amplifier = draw(st.floats(0, 20))
    patch, l = draw(st.integers(1, 15)), draw(st.integers(0, 5))
    return Local((channels, h, w), k, patch, 1, l, amplifier)


DIRECTIONS = pytest.mark.parametrize("families", [spheres(), locals_()], ids=["sphere", "local"])
seeds = st.integers(0, 2**32 - 1)


def drawn(directions, seed, h, like=FLOAT64):
    return replace(directions, h=h).draw(Random(seed, Draw.DIRECTIONS), like)


def level_of(directions, like=FLOAT64):
    if isinstance(directions, Sphere):
        return FullSize()
    return LanczosLevel.at(directions.shape, directions.resolution, like)


def dense(directions, seed, h):
    """Return the rows [θ_x, ξ θ_y] as a matrix (H, D) of full-size directions."""
    lifted = drawn(directions, seed, h).lift(torch.eye(h, dtype=torch.float64))
    return level_of(directions).leave(lifted).T


def dimension(directions):
    """Return the number of coordinates at the level."""
    if isinstance(directions, Sphere):
        return directions.l + directions.d
    return directions.l + int(np.prod(level_shape(directions.shape, directions.resolution)))


@DIRECTIONS
@given(data=st.data(), seed=seeds, h=st.integers(1, 150), m=st.integers(1, 5))
def test_lift_is_the_adjoint_of_project(families, data, seed, h, m):
    directions = data.draw(families)
    A = drawn(directions, seed, h)
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(dimension(directions), m, generator=rng, dtype=torch.float64)
    v = torch.randn(h, m, generator=rng, dtype=torch.float64)
    torch.testing.assert_close((A.project(x) * v).sum(), (x * A.lift(v)).sum())


@DIRECTIONS
@given(data=st.data(), seed=seeds, h=st.integers(1, 20))
def test_directions_have_unit_norm(families, data, seed, h):
    """θ_x and θ_y together, before the amplifier."""
    directions = replace(data.draw(families), amplifier=1.0)
    norms = dense(directions, seed, h).norm(dim=1)
    torch.testing.assert_close(norms, torch.ones(h, dtype=torch.float64))


@DIRECTIONS
@given(data=st.data(), seed=seeds, h=st.integers(1, 20))
def test_the_amplifier_amplifies_conditions_alone(families, data, seed, h):
    directions = data.draw(families)
    theta, plain = dense(directions, seed, h), dense(replace(directions, amplifier=1.0), seed, h)
    d = theta.shape[1] - directions.l
    assert torch.equal(theta[:, :d], plain[:, :d])
    torch.testing.assert_close(theta[:, d:], directions.amplifier * plain[:, d:])


@DIRECTIONS
@given(data=st.data(), seed=seeds, h=st.integers(1, 300))
def test_bits_depend_on_neither_blocks_nor_threads(families, data, seed, h):
    """The whole on one thread, against block by block on two."""
    directions = data.draw(families)
    x = torch.randn(dimension(directions), 33, generator=torch.Generator().manual_seed(seed))
    torch.set_num_threads(1)
    A = drawn(directions, seed, h, FLOAT32)
    z = A.project(x)
    lifted = A.lift(z)
    torch.set_num_threads(2)
    A = drawn(directions, seed, h, FLOAT32)
    move = torch.zeros(A.rows.dimension, 33)
    for theta, block in zip(A.blocks(), slices(h, BLOCK_DIRECTIONS), strict=True):
        assert torch.equal(theta.project(x), z[block])
        theta.lift(z[block], onto=move)
    assert torch.equal(move, lifted)


@pytest.mark.parametrize("d", [PANEL - 1, PANEL, 4 * PANEL + 5])
@pytest.mark.parametrize("m", [1, 100, 10_000])
def test_long_sums_do_not_depend_on_threads(d, m):
    A = drawn(Sphere(d, 1), 0, BLOCK_DIRECTIONS + 1, FLOAT32)
    x = torch.randn(d, m)
    bits = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        bits.append((A.project(x), A.lift(A.project(x))))
    assert all(map(torch.equal, *bits))


def test_sphere_is_uniform():
    theta = drawn(Sphere(3, 1, 1), 0, 40_000).rows.theta
    assert (theta.T @ theta / len(theta) - torch.eye(4) / 4).abs().max() < 5e-3
    assert theta.mean(dim=0).abs().max() < 0.01


@pytest.mark.parametrize("S", [1, 3, 5, 15])
@pytest.mark.parametrize("k", range(1, 29))
def test_local_is_the_dense_direction_built_explicitly(k, S):
    """Through the level in float32 as against upsampled, normalised vectors: all h of them."""
    C, n, h, m = 2, 28, 12, 3
    directions = Local((C, n, n), k, S, h)
    x = np.random.default_rng(1).standard_normal((C * n * n, m))
    u = level_of(directions, FLOAT32).enter(torch.from_numpy(x).float())
    z = drawn(directions, 7, h, FLOAT32).project(u)

    rng = Random(7, Draw.DIRECTIONS)  # the same draws again, in their order: places, then patches
    size = min(S, k)
    rows, columns = (
        [rng.integers(k, h), rng.integers(k, h)] if k > S else np.zeros((2, h), dtype=int)
    )
    patches = rng.normal((h, C * size**2))
    theta = [
        oracles.local_direction(patch.reshape(C, size, size), (r, c), k, n)
        for patch, r, c in zip(patches, rows, columns, strict=True)
    ]
    np.testing.assert_allclose(z, np.array(theta) @ x, rtol=1e-5, atol=1e-5)


def test_local_patches_meet_all_borders():
    """The test above sees cut patches: at k = 8, S = 5 most centres are near a border."""
    A = drawn(Local((1, 28, 28), 8, 5, 12), 7, 12)
    entries = (A.rows.weights != 0).sum(dim=1)
    assert (entries < 25).any()
    assert (entries == 25).any()


def test_centres_are_uniform():
    A = drawn(Local((1, 6, 6), 6, 1, 1), 0, 36_000)
    counts = np.bincount(A.rows.columns.squeeze(1), minlength=36)
    assert abs(counts - 1000).max() < 150


def test_conditions_and_images_weigh_the_same():
    theta = dense(Local((1, 8, 8), 4, 3, 50, l=10), 0, 50)
    torch.testing.assert_close(theta[:, :64].norm(dim=1), theta[:, 64:].norm(dim=1))
