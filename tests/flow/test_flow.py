"""The flow against brute-force transcriptions of Algorithms 1 and 2, and its laws."""

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import oracles
import pytest
import torch
from flows import do_steps, flow_of
from hypothesis import given, settings
from hypothesis import strategies as st

from sliceflow.codec._conditions import Columns, Label, Observed, Unconditional
from sliceflow.core._random import Draw, Random
from sliceflow.directions import BLOCK_DIRECTIONS
from sliceflow.flow._engines import Exact
from sliceflow.flow._targets import ArrayTarget
from sliceflow.flow.schedules import Stage
from sliceflow.transport._sorted import chunk_size

CONDITIONS = ["none", "label", "columns", "observed"]
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["32", "64"])


def make(condition, d, n, rng, xi=1.0, ties=False):
    """Return a condition and data joined by it, (D, n), in float64."""
    x = torch.from_numpy(rng.standard_normal((d, n)))
    if ties:
        x = x.round()
    if condition == "none":
        return Unconditional(), x
    if condition == "observed":
        mask = np.arange(d) < max(1, d // 2)
        return Observed(torch.from_numpy(rng.permutation(mask))), x
    if condition == "label":
        label = Label(3, xi)
        return label, label.join(x, torch.from_numpy(rng.integers(3, size=n)))
    columns = Columns(2, xi)
    return columns, columns.join(x, torch.from_numpy(rng.standard_normal((2, n))))


def configurations():
    """Yield 64 configurations: conditions, ties, ξ, and sizes down to M or N of 2."""
    rng = np.random.default_rng(2023)
    for i, (condition, ties) in enumerate(itertools.product(CONDITIONS * 8, [False, True])):
        m, n = rng.integers(2, 25, size=2)
        if i % 8 == 0:
            m = 2
        if i % 8 == 3:
            n = 2
        yield pytest.param(
            condition,
            ties,
            int(rng.integers(2 if condition == "observed" else 1, 6)),
            int(m),
            int(n),
            int(rng.integers(1, 8)),
            float(rng.choice([0, 0.5, 1, 2, 10])),
            float(rng.uniform(0.1, 2)),
            i,
            id=f"{i}-{condition}{'-ties' * ties}-M{m}-N{n}",
        )


def directions(seed, steps, h, dimension):
    """Draw what the flow draws, (steps, h, D), and put it on the sphere."""
    g = [Random(seed, Draw.DIRECTIONS, 0, k).normal((h, dimension))
         for k in range(steps)]  # fmt: skip
    g = np.array(g, dtype=np.float64)
    return g / np.linalg.norm(g, axis=-1, keepdims=True)


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max())


@DTYPES
@pytest.mark.parametrize("steps", [1, 10])
@pytest.mark.parametrize(
    ("condition", "ties", "d", "m", "n", "h", "xi", "eta", "seed"), list(configurations())
)
def test_algorithm_1(condition, ties, d, m, n, h, xi, eta, seed, steps, dtype):
    rng = np.random.default_rng(seed)
    condition, data = make(condition, d, n, rng, xi, ties)
    data = data.to(dtype)
    flow = flow_of([ArrayTarget(data)], (d,), (Stage(steps),), condition, Exact(h, eta), seed)
    state = flow.start(m)
    if ties:
        state.particles[:, m // 2 :] = state.particles[:, : m - m // 2].clone()
    X, Y = np.split(state.particles.T.double().numpy().copy(), [d], axis=1)
    x, y = np.split(data.T.double().numpy(), [d], axis=1)
    thetas = directions(seed, steps, h, d + condition.l)
    if isinstance(condition, Observed):
        theirs = oracles.inpaint(X, condition.mask.numpy(), x, thetas, eta)
    else:
        theirs = oracles.cswf(X, Y, x, y, thetas, condition.amplifier, eta)
    flow.run(state)
    close(state.particles[:d].T, theirs)


@DTYPES
@pytest.mark.parametrize("steps", [1, 10])
@pytest.mark.parametrize("seed", range(30))
def test_algorithm_2(seed, steps, dtype):
    rng = np.random.default_rng(seed)
    d, h, m, n = rng.integers(1, 6), rng.integers(1, 8), *rng.integers(2, 25, size=2)
    lam, eta = rng.uniform(0, 0.1), rng.uniform(0.1, 2)
    data = torch.from_numpy(rng.standard_normal((d, n))).to(dtype)
    engine = Exact(int(h), eta, entropy=lam, fixed_directions=True)
    flow = flow_of([ArrayTarget(data)], (int(d),), (Stage(steps),), engine=engine, seed=seed)
    state = flow.start(int(m))
    noise = [Random(seed, Draw.NOISE, 0, k).normal((m, d))
             for k in range(steps)]  # fmt: skip
    X, x = state.particles.T.double().numpy(), data.T.double().numpy()
    theirs = oracles.swf(X, x, directions(seed, 1, h, d)[0], eta, lam, noise)
    close(flow.run(state).particles.T, theirs)


@pytest.mark.parametrize("seed", range(20))
def test_algorithm_1_with_local_directions(seed):
    """Three stages of patches; the oracle gets the directions as the dense vectors they stand for.

    That these are right is shown with the projections.
    """
    rng = np.random.default_rng(seed)
    shape, m, n = (2, 6, 6), 12, 9
    condition, data = make(CONDITIONS[seed % 4], 72, n, rng, xi=3.0)
    schedule = (Stage(1, 2), Stage(1, 4, 3), Stage(1, 6, 3))
    flow = flow_of([ArrayTarget(data)], shape, schedule, condition, Exact(5, 5.0), seed)
    state = flow.start(m)
    X, Y = np.split(state.particles.T.numpy().copy(), [72], axis=1)
    x, y = np.split(data.T.numpy(), [72], axis=1)
    for number, stage in enumerate(schedule):
        rng, engine = Random(seed, Draw.DIRECTIONS, number), flow.spec.engine
        A = engine.directions(stage, shape, condition, None).draw(rng, data)
        level = engine.level(stage, shape, data)
        lifted = level.leave(A.lift(torch.eye(5, dtype=torch.float64)))
        thetas = lifted.T.numpy()[None]  # [θ_x, ξ θ_y]
        if isinstance(condition, Observed):
            X = oracles.inpaint(X, condition.mask.numpy(), x, thetas, 5)
        else:
            X = oracles.cswf(X, Y, x, y, thetas, 1, 5)
    close(flow.run(state).particles[:72].T, X)


def small_flow(condition="none", seed=0, **options):
    """Return a flow of float32 tables, and its number of coordinates."""
    condition, data = make(condition, 4, 40, np.random.default_rng(seed), xi=5.0)
    options = {
        "engine": Exact(3 * BLOCK_DIRECTIONS + 5),
        "schedule": (Stage(2), Stage(1)),
        **options,
    }
    return flow_of([ArrayTarget(data.float())], (4,), condition=condition, seed=seed, **options)


def bits(flow, m=30):
    return flow.run(flow.start(m)).particles


@given(
    condition=st.sampled_from(CONDITIONS),
    seed=st.integers(0, 10**6),
    entropy=st.sampled_from([0.0, 0.1]),
)
def test_frozen_coordinates_stay_bit_equal(condition, seed, entropy):
    flow = small_flow(condition, seed, engine=Exact(3, entropy=entropy))
    state = flow.start(10)
    frozen = torch.ones(len(state.particles), dtype=torch.bool)
    frozen[flow.spec.condition.free] = False
    before = state.particles.clone()
    x = flow.run(state).particles
    assert torch.equal(x[frozen].view(torch.int32), before[frozen].view(torch.int32))
    assert not torch.equal(x, before)


@settings(max_examples=100)  # each is two flows
@given(
    condition=st.sampled_from(CONDITIONS),
    seed=st.integers(0, 10**6),
    m=st.integers(2, 60),
    rows=st.integers(1, BLOCK_DIRECTIONS),
)
def test_same_bits_for_any_threads_and_chunks(condition, seed, m, rows):
    memory = 4 * BLOCK_DIRECTIONS * (m + 40) + rows * (125 * m + 16 * 40)
    assert chunk_size(memory, m, 40) == rows
    torch.set_num_threads(1)
    one = bits(small_flow(condition, seed), m)
    torch.set_num_threads(2)
    engine = Exact(3 * BLOCK_DIRECTIONS + 5, memory=memory)
    assert torch.equal(bits(small_flow(condition, seed, engine=engine), m), one)


@pytest.mark.parametrize("stage", [Stage(1), Stage(1, 28, 7), Stage(1, 14, 14)])
def test_same_bits_for_any_threads_and_chunks_at_image_size(stage):
    data = torch.randn(784, 3000, generator=torch.Generator().manual_seed(0))
    results = []
    for threads, memory in [(1, 1), (2, 2**22), (2, 2**30)]:
        torch.set_num_threads(threads)
        engine = Exact(300, memory=memory)
        flow = flow_of([ArrayTarget(data)], (1, 28, 28), (stage,), engine=engine)
        results.append(bits(flow, 2000))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_stopped_flow_goes_on_with_the_same_bits(condition):
    engine = Exact(3 * BLOCK_DIRECTIONS + 5, entropy=0.01, n_cdf=20)
    options = {"engine": engine, "schedule": (Stage(3), Stage(2))}
    flow = small_flow(condition, **options)
    whole = bits(flow)
    state = do_steps(flow, flow.start(30), 2)
    saved = replace(state, shards=[x.clone() for x in state.shards])
    resumed = small_flow(condition, **options).run(saved)
    assert torch.equal(resumed.particles, whole)
    assert (resumed.stage, resumed.step) == (2, 0)


@pytest.mark.parametrize("seed", range(10))
def test_cdf_from_a_subset(seed):
    """The oracle counts the particles that the flow draws."""
    rng = np.random.default_rng(seed)
    condition, data = make("columns", 3, 15, rng, xi=4.0)
    engine = Exact(5, 1.5, n_cdf=8)
    flow = flow_of([ArrayTarget(data)], (3,), (Stage(4),), condition, engine, seed)
    state = flow.start(20)
    X, Y = np.split(state.particles.T.numpy().copy(), [3], axis=1)
    draws = [Random(seed, Draw.SUBSET, 0, k).subset(20, 8) for k in range(4)]
    x, y = np.split(data.T.numpy(), [3], axis=1)
    theirs = oracles.cswf(X, Y, x, y, directions(seed, 4, 5, 5), 4.0, 1.5, draws)
    close(flow.run(state).particles[:3].T, theirs)


def test_as_many_counted_as_there_are_is_all():
    some, everyone = (small_flow(engine=Exact(9, n_cdf=n)) for n in (30, None))
    assert torch.equal(bits(some), bits(everyone))


def test_each_step_sees_a_batch_of_its_own():
    """Each batch is a part of the data that the step draws."""
    data = torch.randn(2, 50, dtype=torch.float64)
    target = ArrayTarget(data, batch_size=10)
    flow = flow_of([target], (2,), (Stage(2),), engine=Exact(4, 1.0))
    x = data.T.numpy()
    X = flow.start(8).particles.T.numpy()
    for step, theta in enumerate(directions(0, 2, 4, 2)):
        batch = np.split(x, 5)[Random(0, Draw.BATCH, 0, step).integer(5)]
        X = oracles.cswf(X, X[:, :0], batch, batch[:, :0], theta[None], 1, 1.0)
    close(flow.run(flow.start(8)).particles.T, X)


def test_noise_has_its_variance():
    """With a step size of almost nothing, all that moves is the noise, of variance 2λη."""
    engine = Exact(3 * BLOCK_DIRECTIONS + 5, 1e-8, entropy=0.5e8)
    flow = small_flow(engine=engine, schedule=(Stage(1),))
    state = flow.start(30)
    before = state.particles.clone()
    x = flow.run(state).particles
    np.testing.assert_allclose(x - before, Random(0, Draw.NOISE).normal((30, 4)).T, atol=1e-5)


@pytest.mark.parametrize(("h", "eta"), [(1, 1), (5, 25 / 9), (64, 320 / 68)])
def test_default_step_size(h, eta):
    data = torch.randn(5, 50, dtype=torch.float64)
    ours, given_eta = (
        flow_of([ArrayTarget(data)], (5,), (Stage(2),), engine=Exact(h, step_size))
        for step_size in (None, eta)
    )
    close(bits(ours), bits(given_eta).numpy())


def test_default_step_size_at_a_level_counts_its_coordinates():
    data = torch.randn(72, 20, dtype=torch.float64)
    stage = Stage(1, 3, 2)
    ours, given_eta = (
        flow_of([ArrayTarget(data)], (2, 6, 6), (stage,), engine=Exact(40, step_size))
        for step_size in (None, 18 * 40 / (40 + 18 - 1))
    )
    close(bits(ours), bits(given_eta).numpy())


@pytest.mark.parametrize("h", [64, 128, 256])
def test_default_step_size_converges_for_few_and_many_directions(h):
    """With η = d the middle one, H = d, would still be 1.4 away of 3."""
    data = torch.randn(128, 500, generator=torch.Generator().manual_seed(0)) + 3
    moved = bits(flow_of([ArrayTarget(data)], (128,), (Stage(30),), engine=Exact(h)), 500)
    assert (moved.mean(dim=1) - data.mean(dim=1)).square().mean().sqrt() < 0.05


def test_one_dimension_is_solved_in_one_step():
    """With d = 1 and η = 1 the step is the optimal transport map itself."""
    data = torch.randn(1, 50, dtype=torch.float64) ** 3
    flow = flow_of([ArrayTarget(data)], (1,), (Stage(1),), engine=Exact(1))
    moved = bits(flow, 50)
    # A direction of −1 sends the particles the other way round: ranks from above.
    torch.testing.assert_close(moved.sort().values, data.sort().values)


def test_gaussian_to_gaussian():
    """The flow's limit from N(0, I) must have the mean and the covariance of the data."""
    rng = torch.Generator().manual_seed(0)
    mix = torch.tensor([[2.0, 0.0], [1.0, 0.5]])
    data = mix @ torch.randn(2, 4000, generator=rng) + torch.tensor([[3.0], [-1.0]])
    moved = bits(flow_of([ArrayTarget(data)], (2,), (Stage(60),), engine=Exact(32)), 4000)
    torch.testing.assert_close(moved.mean(dim=1), data.mean(dim=1), atol=0.02, rtol=0)
    torch.testing.assert_close(moved.cov(), data.cov(), atol=0.1, rtol=0)


def test_callbacks_see_every_step():
    seen = []
    flow = small_flow()
    flow.run(flow.start(30), [lambda state: seen.append((state.stage, state.step))])
    assert seen == [(0, 1), (1, 0), (2, 0)]


MEASURE = """
import sys
import torch
from sliceflow import ArrayTarget, Exact, Flow, Spec, Stage
from sliceflow.core._memory import peak_memory, reset_peak

d, m, n, h, memory = map(int, sys.argv[1:])


def started(d, m, n):
    target = ArrayTarget(torch.randn(d, n))
    flow = Flow(Spec((d,), (Stage(2),), engine=Exact(h, memory=memory)), [target])
    state = flow.start(m)
    return flow, flow.begin_stage(state), state


flow, *stage_and_state = started(2, 100, 100)
flow.step(*stage_and_state)
flow, *stage_and_state = started(d, m, n)
reset_peak()
before = peak_memory()
flow.step(*stage_and_state)
print((peak_memory() - before) / 2**20)
"""

# Freed blocks of any size go back to the system at once. By default, glibc keeps some for later;
# how many depends on which thread frees what first.
NOTHING_KEPT = {"MALLOC_MMAP_THRESHOLD_": "131072"}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    ("d", "m", "n", "h", "mebibytes"),
    [
        (2, 200_000, 200_000, 65, 250),
        (2, 200_000, 2_000, 65, 250),
        (2, 2_000, 500_000, 65, 250),
        (2, 200_000, 200_000, 65, 500),
        (3072, 20_000, 2_000, 300, 100),
        (3072, 50, 500, 4_000, 30),
    ],
)
def test_memory_stays_under_its_ceiling(d, m, n, h, mebibytes):
    """The ceiling, the move of each particle, and the directions: the formula of docs/design.md."""
    arguments = [str(a) for a in (d, m, n, h, mebibytes * 2**20)]
    command = [sys.executable, "-c", MEASURE, *arguments]
    env = os.environ | NOTHING_KEPT
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert float(done.stdout) < mebibytes + (4 * d * m + 8 * d * h) / 2**20
