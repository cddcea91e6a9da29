"""The fast engine: orthonormal, the same flow as the exact maps give, the same bits however run."""

import math
import multiprocessing
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.stats
import torch
from flows import do_steps, flow_of
from test_flow import CONDITIONS, bits, make

from sliceflow import SlicedFlow
from sliceflow.codec._conditions import Label
from sliceflow.core import _distributed as distributed
from sliceflow.core._random import Draw, Key, Random
from sliceflow.core._threads import parallel
from sliceflow.flow._engines import Fast
from sliceflow.flow._starts import Blends, Gaussian, GaussianSampler, Noise, _clusters
from sliceflow.flow._targets import ArrayTarget, mixed
from sliceflow.flow.schedules import Stage, pyramid
from sliceflow.metrics import sliced_wasserstein
from sliceflow.transport import SortedTransport

SHAPE = (2, 12, 12)
D = 288
SCHEDULE = (
    Stage(2, 3),
    Stage(2, 8, 3),
    Stage(2, 8, 3, band=2),
    Stage(2, 12, 5, shared=True),
    Stage(1, 12, 4, band=1, shared=True),
)


@dataclass(frozen=True)
class ExactMaps(Fast):
    """Fast, but with maps from sorted values."""

    def transport(self, shape, condition):
        return SortedTransport(memory=2**28)


def images(n, seed=0):
    """Draw smooth images of two kinds, with a background that is often the same, (D, n)."""
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 2, 4, 4, generator=rng)
    x = torch.nn.functional.interpolate(x, size=(12, 12), mode="bilinear")
    return x.clamp(min=-0.2).reshape(n, D).T.contiguous()


def image_flow(condition="none", schedule=SCHEDULE, n=1500, **settings):
    condition, data = make(condition, D, n, np.random.default_rng(0), xi=10.0)
    data = data.float()
    data[:D] = images(n)
    return flow_of([ArrayTarget(data)], SHAPE, schedule, condition, **settings)


@pytest.mark.parametrize("stage", [Stage(1, 12, 5), Stage(1, 12, 4, band=3), Stage(1, 8, 3)])
def test_a_step_matches_every_marginal(stage):
    """Two-sample Kolmogorov-Smirnov, below its 1 % critical value along every direction."""
    flow = image_flow(schedule=(stage, Stage(1)), n=4000)
    state = flow.start(2000)
    context = flow.begin_stage(state)
    A, level = flow.directions(context, state, state.particles), context.level
    do_steps(flow, state, 1)
    u, w = level.enter(state.particles), level.enter(flow.targets[0].z)
    critical = 1.628 * (1 / 2000 + 1 / 4000) ** 0.5
    for theta in A.blocks(4000):
        for p, q in zip(theta.project(u), theta.project(w), strict=True):
            assert scipy.stats.ks_2samp(p, q).statistic < critical


@pytest.mark.parametrize("condition", ["none", "label"])
def test_it_is_the_same_flow(condition):
    """One step with the same directions and maps from sorted values, in units of the data."""
    errors = []
    for cells in (256, 1024, 4096):
        moved = []
        for engine in (Fast(cells), ExactMaps()):
            flow = image_flow(condition, (Stage(1, 12, 4),), n=20_000, engine=engine)
            moved.append(bits(flow, 10_000)[:D])
        errors.append((moved[0] - moved[1]).abs().mean() / flow.targets[0].z[:D].std())
    assert errors[1] < (1e-3 if condition == "none" else 1e-2)
    assert errors[2] < 0.75 * errors[1] < 0.75**2 * errors[0]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("values", [1, 2**15, 2**30])
def test_same_bits_for_any_threads_and_chunks(condition, values, monkeypatch):
    torch.set_num_threads(1)
    one = bits(image_flow(condition), 700)
    torch.set_num_threads(2)
    assert torch.equal(bits(image_flow(condition), 700), one)
    monkeypatch.setattr(distributed, "BLOCK_VALUES", values)
    assert torch.equal(bits(image_flow(condition), 700), one)


@pytest.mark.parametrize("stage", [Stage(1, 28, 7), Stage(1, 7), Stage(1), Stage(1, 28, 14)])
def test_same_bits_for_any_threads_and_chunks_at_image_size(stage, monkeypatch):
    data = torch.randn(784, 3000, generator=torch.Generator().manual_seed(0))
    flow = flow_of([ArrayTarget(data)], (1, 28, 28), (stage,))
    results = []
    for threads, values in [(1, 1), (2, 2**16), (2, 2**30)]:
        torch.set_num_threads(threads)
        monkeypatch.setattr(distributed, "BLOCK_VALUES", values)
        results.append(bits(flow, 2000))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("start", [Gaussian(), Blends()])
def test_same_bits_of_a_start_like_the_data_for_any_threads(start):
    torch.set_num_threads(1)
    one = image_flow("label", initial=start, n=5000).start(500).particles
    torch.set_num_threads(2)
    assert torch.equal(image_flow("label", initial=start, n=5000).start(500).particles, one)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("steps", range(1, 9))
def test_a_stopped_flow_goes_on_with_the_same_bits(condition, steps):
    flow = image_flow(condition)
    whole, state = bits(flow, 300), do_steps(flow, flow.start(300), steps)
    at_level = None if state.coordinates is None else [u.clone() for u in state.coordinates]
    saved = replace(state, shards=[x.clone() for x in state.shards], coordinates=at_level)
    assert torch.equal(image_flow(condition).run(saved).particles, whole)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_frozen_coordinates_stay_bit_equal(condition):
    flow = image_flow(condition)
    state = flow.start(200)
    frozen = torch.ones(len(state.particles), dtype=torch.bool)
    frozen[flow.spec.condition.free] = False
    before = state.particles[frozen].clone()
    x = flow.run(state).particles
    assert torch.equal(x[frozen].view(torch.int32), before.view(torch.int32))


def test_what_a_level_does_not_see_stays():
    """A coarse stage moves particles within its level, and no finer detail."""
    flow = image_flow(schedule=(Stage(3, 4, 2),))
    state = flow.start(300)
    level, x = flow.begin_stage(state).level, state.particles.clone()
    flow.run(state)
    detail = [z - level.leave(level.enter(z)) for z in (x, state.particles)]
    torch.testing.assert_close(*detail, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("start", "error"), [(Gaussian(), 0.08), (Blends(), 0.25)])
@pytest.mark.parametrize("condition", ["none", "label", "columns"])
def test_a_start_like_the_data_has_its_mean_and_covariance(condition, start, error):
    flow = image_flow(condition, initial=start, n=5000)
    x, z = flow.start(20_000).particles, flow.targets[0].z
    groups = range(3) if condition == "label" else [None]
    for g in groups:
        mine, theirs = (z[:D] if g is None else z[:D, z[D + g] == 1] for z in (x, z))
        torch.testing.assert_close(mine.mean(dim=1), theirs.mean(dim=1), atol=0.05, rtol=0)
        torch.testing.assert_close(mine.cov(), theirs.cov(), atol=error, rtol=0)


def test_noise_starts_with_its_deviation():
    x = image_flow(initial=Noise(0.1)).start(5000).particles
    assert x.std().item() == pytest.approx(0.1, rel=0.01)


def test_images_arrive():
    """Sliced by fresh directions, the particles of a whole pyramid are as near as fresh data."""
    flow = image_flow(schedule=pyramid(SHAPE, "quick"), n=4000)
    moved = flow.run(flow.start(2000)).particles
    ours, fresh = (sliced_wasserstein(x.T, images(2000, 1).T) for x in (moved, images(2000, 2)))
    assert ours < 1.5 * fresh


@pytest.mark.parametrize("d", [1, 2, 5])
def test_tables_arrive(d):
    """A table is one tile of all its columns: here positive ones."""
    data = torch.randn(d, 2000, generator=torch.Generator().manual_seed(0)).abs() * 2
    moved = bits(flow_of([ArrayTarget(data)], (d,), (Stage(60),)), 1000)
    torch.testing.assert_close(moved.mean(dim=1), data.mean(dim=1), atol=0.1, rtol=0)
    assert (moved < -0.2).float().mean() < 0.02


def test_parts_of_the_data_are_all_as_large_and_all_drawn():
    target = ArrayTarget(torch.arange(50)[None], batch_size=20)
    parts = {tuple(target.batch(Key(i, Draw.BATCH))[0].tolist()) for i in range(100)}
    assert sorted(map(len, parts)) == [16, 17, 17]
    assert sorted(sum(parts, ())) == list(range(50))


@pytest.mark.parametrize(("stage", "n_parts"), [(Stage(20), 2), (Stage(20, 2), 1)])
def test_a_stage_at_a_resolution_keeps_its_part(stage, n_parts):
    data = torch.ones(4, 100)
    data[:, 50:] = -1
    flow, seen = flow_of([ArrayTarget(data, batch_size=50)], (1, 2, 2), (stage,)), set()

    def look(state):
        seen.add(int(state.particles.mean().sign()))

    flow.run(flow.start(50), [look])
    assert len(seen) == n_parts


def test_neighbours_have_all_labels():
    labels = np.random.default_rng(0).choice(3, size=1000, p=[0.6, 0.3, 0.1])
    order = mixed(Random(1, Draw.ORDER), labels)
    assert sorted(order) == list(range(1000))
    share = np.bincount(labels) / 1000
    for part in np.array_split(labels[order], 7):
        assert (abs(np.bincount(part, minlength=3) - share * len(part)) <= 2).all()


def test_labels_are_kept():
    """Two classes side by side at ξ = 10: hardly a particle on the wrong side."""
    rng = torch.Generator().manual_seed(0)
    y = torch.arange(3000) % 2
    x = torch.randn(2, 3000, generator=rng) + 6 * y
    label = Label(2, 10.0)
    flow = flow_of([ArrayTarget(label.join(x, y))], (2,), (Stage(60),), label)
    moved, classes = label.split(flow.run(flow.start(3000)).particles)
    wrong = (moved.mean(dim=0) > 3) != (classes == 1)
    assert wrong.float().mean() < 0.005


def test_a_gaussian_start_of_coordinates_that_follow_others():
    rng = torch.Generator().manual_seed(0)
    data = torch.randn(64, 8, generator=rng) @ torch.randn(8, 3000, generator=rng)
    x = flow_of([ArrayTarget(data)], (64,), (), initial=Gaussian()).start(3000).particles
    torch.testing.assert_close(x.cov(), data.cov(), atol=2.5, rtol=0.1)


def test_a_gaussian_start_of_fewer_rows_than_coordinates_keeps_no_row():
    """Its covariance is the data's; its root is no larger than the data, and another matrix."""
    data = torch.randn(300, 40, generator=torch.Generator().manual_seed(0))
    flow = flow_of([ArrayTarget(data)], (300,), (), initial=Gaussian())
    (factor,) = flow.sampler.factors
    assert factor.shape == (300, 40)
    torch.testing.assert_close(factor @ factor.T, data.cov(correction=0), atol=1e-4, rtol=0)
    together = torch.corrcoef(torch.cat([factor, data], dim=1).T)[:40, 40:]
    assert together.abs().max() < 0.9


def test_blends_are_sums_of_sixteen_rows_of_a_cluster():
    """With one coordinate for each row, the coordinates of a blend say which rows are in it."""
    flow = flow_of([ArrayTarget(torch.eye(1100))], (1100,), (), initial=Blends())
    start = flow.sampler
    assert start.clusters == 8
    x = flow.start(50).particles
    own = [((x[:, [i]] - start.means.squeeze(2).T).square().sum(dim=0)).argmin() for i in range(50)]
    moves = x - start.means[own].squeeze(2).T
    assert ((moves.clamp(min=0) > 0.1).sum(dim=0) == 16).all()
    torch.testing.assert_close(
        moves.square().sum(dim=0), torch.full((50,), 1 - 16 / 137), atol=0.05, rtol=0
    )
    for factor in start.factors:
        assert (factor > 0.5 * factor.amax()).sum(dim=0).eq(4).all()


def test_clusters_are_halves_along_the_principal_axis():
    x = torch.randn(3, 1000, generator=torch.Generator().manual_seed(0))
    x[1] += 100 * (torch.arange(1000) % 2)
    low, high = _clusters(x, 1)
    assert (low[1] < 50).all() != (high[1] < 50).all()
    assert low.shape == high.shape == (3, 500)
    assert len(torch.cat(_clusters(x, 3), dim=1).T.unique(dim=0)) == 1000


def test_no_two_blends_are_equal():
    data = torch.randn(4, 1024, generator=torch.Generator().manual_seed(0))
    x = flow_of([ArrayTarget(data)], (4,), (), initial=Blends()).start(20_000).particles
    assert len(x.T.unique(dim=0)) == 20_000


def test_blends_keep_what_goes_with_what():
    """Of points around a circle, a Gaussian fills the inside; blends of clusters leave it empty."""
    angle = torch.linspace(0, 2 * math.pi, 20_000)
    data = torch.stack([angle.cos(), angle.sin()])
    starts = (
        flow_of([ArrayTarget(data)], (2,), (), initial=start).start(5000).particles
        for start in (Blends(), Gaussian())
    )
    inside = [(x.norm(dim=0) < 0.8).float().mean() for x in starts]
    assert inside[0] < 0.01
    assert inside[1] > 0.4


def test_few_rows_start_as_a_gaussian_instead_of_blends():
    data = torch.randn(2, 500, generator=torch.Generator().manual_seed(0))
    flow = flow_of([ArrayTarget(data)], (2,), (), initial=Blends())
    assert type(flow.sampler) is GaussianSampler


def test_a_class_of_one_row_starts_as_all_data():
    label, x = Label(3, 10.0), torch.randn(2, 500, generator=torch.Generator().manual_seed(0))
    y = torch.zeros(500, dtype=torch.long)
    y[0] = 2
    flow = flow_of([ArrayTarget(label.join(x, y))], (2,), (), label, initial=Gaussian())
    of_that_class = label.join(torch.zeros(2, 400), torch.full((400,), 2))
    start = flow.sampler(Random(0, Draw.START), of_that_class)
    assert start.std(dim=1).sub(1).abs().amax() < 0.2


@pytest.mark.parametrize("shape", [(1, 4, 8), (2, 5, 3)])
def test_images_that_are_not_square(shape):
    x = 0.01 * np.random.default_rng(0).normal(size=(200, *shape))
    assert SlicedFlow(random_state=0).fit(x).particles_.std() < 0.02


def test_it_runs_in_inference_mode():
    with torch.inference_mode():
        bits(image_flow(), 50)


def test_it_runs_after_a_fork():
    """Threads do not survive it: new ones must be started. With one, as OpenMP's own would hang."""
    torch.set_num_threads(1)
    bits(image_flow(), 50)
    child = multiprocessing.get_context("fork").Process(target=bits, args=(image_flow(), 50))
    child.start()
    child.join(60)
    assert child.exitcode == 0


def test_an_error_in_a_thread_is_raised():
    with pytest.raises(ZeroDivisionError):
        parallel(lambda x: 1 / x, [1, 0, 2])
