import math

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sliceflow.directions._pyramid import LanczosLevel, lanczos, level_shape, orthonormal

FLOAT64 = torch.empty(0, dtype=torch.float64)


@pytest.mark.parametrize(("n", "k"), [(28, 7), (32, 12), (28, 21), (64, 5), (9, 2)])
def test_lanczos_is_pillows(n, k):
    image = np.random.default_rng(0).standard_normal((k, k)).astype(np.float32)
    theirs = Image.fromarray(image).resize((n, n), Image.Resampling.LANCZOS)
    matrix = lanczos(n, k, lobes=3).numpy()
    np.testing.assert_allclose(matrix @ image @ matrix.T, np.asarray(theirs), atol=1e-5)


@pytest.mark.parametrize(("n", "k"), [(28, 1), (28, 7), (28, 11), (28, 28)])
def test_upsampling_is_the_oracles(n, k):
    image = np.random.default_rng(0).standard_normal((k, k))
    level = LanczosLevel.at((1, n, n), k, FLOAT64)
    ours = level.leave(torch.from_numpy(image).reshape(-1, 1)).reshape(n, n)
    np.testing.assert_allclose(ours, oracles.lanczos_upsample(image, n), atol=1e-12)


def test_full_resolution_is_the_identity():
    torch.testing.assert_close(lanczos(28, 28), torch.eye(28, dtype=torch.float64))


@given(n=st.integers(1, 64), data=st.data())
def test_a_constant_stays_constant(n, data):
    k = data.draw(st.integers(1, n))
    torch.testing.assert_close(lanczos(n, k).sum(dim=1), torch.ones(n, dtype=torch.float64))


@given(
    channels=st.integers(1, 3),
    h=st.integers(1, 12),
    w=st.integers(1, 12),
    l=st.integers(0, 3),
    data=st.data(),
)
def test_leave_is_the_adjoint_of_enter(channels, h, w, l, data):
    k = data.draw(st.integers(1, min(h, w)))
    level = LanczosLevel.at((channels, h, w), k, FLOAT64)
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(channels * h * w + l, 2, generator=rng, dtype=torch.float64)
    size = math.prod(level_shape((channels, h, w), k))
    u = torch.randn(size + l, 2, generator=rng, dtype=torch.float64)
    torch.testing.assert_close((level.enter(x) * u).sum(), (x * level.leave(u)).sum())


def test_conditions_pass_through():
    level = LanczosLevel.at((1, 8, 8), 3, torch.empty(0))
    x = torch.randn(64 + 5, 7)
    assert torch.equal(level.enter(x)[9:], x[64:])


@given(n=st.integers(1, 64), data=st.data())
def test_orthonormal_coordinates(n, data):
    """Orthonormal to 1e-5, in float32 too, and of the images that Lanczos makes."""
    k = data.draw(st.integers(1, n))
    for dtype in (torch.float32, torch.float64):
        Q = orthonormal(n, k).to(dtype)
        torch.testing.assert_close(Q.T @ Q, torch.eye(k, dtype=dtype), atol=1e-5, rtol=0)
    torch.testing.assert_close(Q @ (Q.T @ lanczos(n, k)), lanczos(n, k), atol=1e-8, rtol=0)


@given(channels=st.integers(1, 3), h=st.integers(1, 64), w=st.integers(1, 64), data=st.data())
def test_levels_have_the_proportions_of_the_image(channels, h, w, data):
    k = data.draw(st.integers(1, min(h, w)))
    c, a, b = level_shape((channels, h, w), k)
    assert (c, min(a, b)) == (channels, k)
    assert abs(a * w - b * h) <= max(h, w) / 2  # the longer side to half a pixel
    assert level_shape((channels, h, w), min(h, w)) == (channels, h, w)


@pytest.mark.parametrize("k", [1, 3, 8, 12])
def test_orthonormal_levels_give_back_what_was_left_there(k):
    level = LanczosLevel.orthonormal_at((3, 12, 15), k, torch.empty(0))
    size = math.prod(level_shape((3, 12, 15), k))
    u = torch.randn(size + 2, 50, generator=torch.Generator().manual_seed(0))
    padded = torch.cat([level.leave(u)[: 3 * 12 * 15], u[-2:]])
    torch.testing.assert_close(level.enter(padded), u, atol=1e-5, rtol=0)
    x = torch.randn(3 * 12 * 15 + 2, 50, generator=torch.Generator().manual_seed(1))
    once = level.leave(level.enter(x))
    torch.testing.assert_close(level.leave(level.enter(once)), once, atol=1e-5, rtol=0)
