"""Recorded flows: new samples by the maps of a fit, without its data."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from sliceflow import Exact, SlicedFlow, Stage
from sliceflow.core._groups import SAMPLE_BATCH
from sliceflow.flow import _starts
from sliceflow.flow._state import State
from sliceflow.model import MAX_BATCHES, Part
from sliceflow.transport._knots import part_ends

MODELS = Path(__file__).parent / "models"
SHAPE = (2, 6, 6)
STAGES = (Stage(2, 4, 4), Stage(3, 6, 3, band=2), Stage(2, 6, 2, band=(1, None), shared=True))
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(256, size=(300, *SHAPE), dtype=np.uint8)
LABELS = RNG.integers(3, size=300)
CONDITIONS = ["none", "label", "observed"]


def unfitted(condition="none", **settings):
    settings = {"schedule": STAGES, "n_particles": 200, "random_state": 1} | settings
    return SlicedFlow(observed="left" if condition == "observed" else None, **settings)


def fitted(condition="none", run=None, **settings):
    """Return a fitted flow; ``run`` has the options of the fit itself."""
    y = LABELS if condition == "label" else None
    return unfitted(condition, **settings).fit(IMAGES, y, **(run or {}))


def sample(model, numbers, condition):
    y = {"none": None, "label": LABELS, "observed": IMAGES}[condition]
    y = None if y is None else y[np.asarray(numbers) % len(y)]
    return model.sample(len(numbers), y, random_state=1)


@pytest.mark.parametrize("start", ["gaussian", "blends", 0.1])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_sample_depends_on_its_number_and_condition_alone(condition, start, monkeypatch):
    """The same bits however many there are, in whatever company, and on any number of threads."""
    for name, rows in (("MIN_BLENDED_ROWS", 32), ("CLUSTER_ROWS", 16)):  # these are few images
        monkeypatch.setattr(_starts, name, rows)
    model, numbers = fitted(condition, start=start).model_, list(range(SAMPLE_BATCH + 30))
    samples = sample(model, numbers, condition)
    assert np.array_equal(sample(model, numbers[:5], condition), samples[:5])
    others = [*numbers[:2], *reversed(numbers[2:])]
    assert np.array_equal(sample(model, others, condition)[:2], samples[:2])
    torch.set_num_threads(1)
    assert np.array_equal(sample(model, numbers, condition), samples)
    torch.set_num_threads(2)


def table_of(kind):
    """Return a flow of a table, and n conditions for its samples."""
    x, y = RNG.normal(size=(400, 3)), RNG.normal(size=(400, 2))
    settings = {"schedule": 6, "n_particles": 300, "random_state": 0}
    observed = [True, False, False] if kind == "observed" else None
    engine = Exact(7, entropy=0.01) if kind == "noise" else None
    flow = SlicedFlow(observed=observed, engine=engine, **settings)
    given = {"numbers": y, "observed": x}.get(kind)
    return flow.fit(x, y if kind == "numbers" else None).model_, given


def model_of(kind):
    if kind in CONDITIONS:
        given = {"label": LABELS, "observed": IMAGES}.get(kind)
        return fitted(kind, start="gaussian").model_, given
    return table_of(kind.removeprefix("table of "))


@pytest.mark.parametrize(
    "kind", [*CONDITIONS, *(f"table of {kind}" for kind in ("numbers", "observed", "noise", "all"))]
)
def test_parts_of_several_seeds_are_drawn_together(kind):
    """They have the bits that each seed has alone, wherever in a batch they are moved."""
    model, given = model_of(kind)
    sizes = {1: 5, 2: SAMPLE_BATCH + 30, 3: 1, 4: 77}
    y = {seed: None if given is None else np.roll(given, seed, 0)[np.arange(n) % len(given)]
         for seed, n in sizes.items()}  # fmt: skip
    size = model.group_size if model.adds_noise else 50  # within batches, and across their ends
    parts = [
        Part(seed, i, model.codec.given(n, y[seed])[..., i : i + size])
        for seed, n in sizes.items()
        for i in range(0, n, size)
    ]
    alone = {seed: model.sample(n, y[seed], random_state=seed) for seed, n in sizes.items()}
    for groups in ([parts], [parts[::-1]], [parts[:2], parts[2:]]):
        drawn = model.sample_parts(groups)
        for group, samples in zip(groups, drawn, strict=True):
            for part, x in zip(group, samples, strict=True):
                own = alone[part.seed][part.first : part.first + len(part)]
                assert np.array_equal(x, own)


def test_bits_do_not_depend_on_functions_of_mkl(monkeypatch):
    """If two threads ask for the first of them at once, last bits may differ: once in 1000 times.

    So neither a fit nor its samples ask for any.
    """

    def refuse(*_):
        pytest.fail("a function whose bits may differ")

    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "tanh", "erf"):
        monkeypatch.setattr(torch, name, refuse)
        monkeypatch.setattr(torch.Tensor, name, refuse)
    part_ends.cache_clear()
    fitted("label").sample(10, y=LABELS[:10])


def test_a_fit_that_was_not_recorded():
    model = fitted(knots=None)
    assert model.particles_.shape == (200, *SHAPE)
    with pytest.raises(ValueError, match="knots=64"):
        model.sample(1)


def test_inpainting():
    model = fitted("observed").model_
    samples = model.inpaint(IMAGES[:4], n=3)
    assert samples.shape == (4, 3, *SHAPE)
    assert np.array_equal(samples[..., :3], np.repeat(IMAGES[:4, None, :, :, :3], 3, axis=1))
    assert len(np.unique(samples[0, :, 0, :, 3:].reshape(3, -1), axis=0)) == 3


def test_directions_that_have_no_room_are_drawn_again():
    """Those of a long flow would be gigabytes."""
    model = fitted().model_
    samples, kept = model.sample(3, random_state=1), model._cache
    assert [len(drawn) for drawn in kept.stages.values()] == [stage.steps for stage in STAGES]
    kept.bytes_left = kept.stages[0, torch.device("cpu")][0].nbytes + 10
    kept.stages.clear()
    assert np.array_equal(model.sample(3, random_state=1), samples)
    assert sum(len(drawn) for drawn in kept.stages.values()) == 1


def test_more_samples_than_fit_in_memory_at_once():
    model = fitted(schedule=(Stage(1, 2),)).model_
    n = 2 * SAMPLE_BATCH * MAX_BATCHES + 3
    samples = model.sample(n, random_state=1)
    assert np.array_equal(model.sample(n - 2, random_state=1), samples[:-2])
    assert len(np.unique(samples.reshape(len(samples), -1), axis=0)) > 0.99 * len(samples)


def test_an_interrupted_sampling_ends():
    """Ctrl-C is not answered when all samples are done, but at once."""
    code = "import signal, sliceflow, sys; model = sliceflow.load(sys.argv[1]); "
    code += "signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell may ignore it
    code += "print(); model.sample(10**7, 'even')"
    command = [sys.executable, "-uc", code, MODELS / "version-1.zip"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)  # of the many minutes that are left
    assert process.returncode != 0
    assert errors.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_replaying_is_the_flow_itself(condition):
    """Particles of the fit that are moved by recorded maps go where they went in the fit, about."""
    plan = unfitted(condition, schedule=(Stage(1, 6, 3),), n_particles=1500, knots=500).plan(
        np.tile(IMAGES, (5, 1, 1, 1)), np.tile(LABELS, 5) if condition == "label" else None
    )
    state = plan.flow.start(1500)
    start = state.particles.clone()
    later = State([start.clone()], state.noise)
    moved = plan.flow.run(state).particles
    replayed = plan.model(state).run(later).particles
    way, apart = ((moved - x).square().mean().sqrt() for x in (start, replayed))
    assert 0 < apart < 0.5 * way


@pytest.mark.parametrize("schedule", [STAGES, STAGES[1:2]])
def test_a_flow_can_be_recorded_twice(schedule):
    flow = unfitted(schedule=schedule).plan(IMAGES).flow
    first, second = (flow.run(flow.start(200)).record for _ in range(2))
    assert len(first.axes) == len(second.axes) == len(schedule)
    assert all(torch.equal(a.knots, b.knots) for a, b in zip(first.maps, second.maps, strict=True))
