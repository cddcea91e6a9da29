"""Schedules: the paper's tables, and ours for any image."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliceflow import Fast, SlicedFlow, Stage, load
from sliceflow.codec._conditions import Unconditional
from sliceflow.flow._starts import Blends, Gaussian
from sliceflow.flow.schedules import PRESETS, TABLE, by_name, paper, pyramid

TABLES = {  # level [patches], as printed in the paper's appendix
    28: "1[1] 2[2] 3[3] 4[4] 5[5] 6[6] 7[7,5,3] 11[11,9,7,5,3] 14[14,13,11,9,7,5,3] "
    "21[15,13,11,9,7,5,3] 28[15,13,11,9,7,5,3]",
    32: "1[1] 2[2] 3[3] 4[4] 5[5] 6[6] 7[7] 8[8,7,5,3] 12[12,11,9,7,5,3] "
    "16[15,13,11,9,7,5,3] 24[15,13,11,9,7,5,3] 32[15,13,11,9,7,5,3]",
    64: "1[1] 2[2] 3[3] 4[4] 5[5] 6[6] 7[7] 8[8,7,5,3] 12[12,11,9,7,5,3] "
    "16[15,13,11,9,7,5,3] 24[15,13,11,9,7,5,3] 32[15,13,11,9,7,5,3] 64[15,13,11,9,7,5,3]",
}


@pytest.mark.parametrize("side", TABLES)
def test_the_papers_tables(side):
    expected = []
    for entry in TABLES[side].split():
        level, patches = entry.rstrip("]").split("[")
        expected += [Stage(7, int(level), int(patch)) for patch in patches.split(",")]
    assert paper(side, 7) == tuple(expected)


def test_the_paper_has_no_other_sizes():
    with pytest.raises(ValueError, match=r"use pyramid\(shape\)"):
        paper(48)


@given(
    channels=st.integers(1, 4),
    height=st.integers(1, 300),
    width=st.integers(1, 300),
    preset=st.sampled_from(sorted(PRESETS)),
)
def test_a_pyramid_goes_from_coarse_to_fine(channels, height, width, preset):
    stages = pyramid((channels, height, width), preset)
    levels = [stage.resolution for stage in stages]
    assert levels == sorted(levels)
    assert levels[-1] == min(height, width)
    fine = [stage for stage in stages if stage.resolution > 7]
    assert all(stage.patch < stage.resolution for stage in fine)


def test_presets_take_more_and_more_steps():
    steps = [sum(stage.steps for stage in pyramid((3, 32, 32), name)) for name in PRESETS]
    assert list(PRESETS) == ["quick", "standard", "best"]
    assert steps[0] * 2 < steps[1] < steps[2] / 2


@pytest.mark.parametrize("shape", [(3, 9, 14), (1, 20, 11), (1, 1, 1)])
def test_images_of_any_shape(shape):
    pixels = np.random.default_rng(0).integers(256, size=(60, *shape), dtype=np.uint8)
    model = SlicedFlow(schedule="quick", n_particles=40, random_state=0).fit(pixels)
    assert model.particles_.shape == (40, *shape)


def test_several_bands_are_taken_in_turn_at_random():
    pixels = np.random.default_rng(0).integers(256, size=(60, 1, 4, 4), dtype=np.uint8)
    runs = [
        SlicedFlow(schedule=[Stage(6, 4, 2, band=band)], random_state=0).fit(pixels).particles_
        for band in (1, (1, None), (1, None))
    ]
    assert (runs[1] == runs[2]).all()
    assert (runs[0] != runs[1]).any()


def test_names_of_presets():
    images, table = np.zeros((5, 1, 4, 4), np.uint8), np.random.default_rng(0).random((9, 2))
    with pytest.raises(ValueError, match="pass one of quick, standard, best"):
        SlicedFlow(schedule="fast").fit(images)
    steps = [SlicedFlow(schedule=name).plan(table).spec.schedule for name in PRESETS]
    assert steps == [(Stage(TABLE[name]),) for name in PRESETS]


@pytest.mark.parametrize("shape", [(1, 8, 200), (3, 200, 8), (1, 3, 500), (1, 1, 2000), (3000,)])
@pytest.mark.parametrize("preset", PRESETS)
def test_no_step_of_an_odd_shape_turns_many_values_at_once(shape, preset):
    """Drawing such a basis takes the cube of how many there are."""
    for stage in by_name(preset, shape):
        axes = Fast().directions(replace(stage, band=None), shape, Unconditional(), None)
        assert axes.basis.p <= 300


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 64, 128), (3, 12, 10), (784,), (1000,)])
def test_ordinary_shapes_are_turned_as_a_whole(shape):
    coarse = [stage for stage in by_name("quick", shape) if (stage.resolution or 1) <= 7]
    assert {stage.patch for stage in coarse} == {None}


@pytest.mark.parametrize("shape", [(1, 2, 330), (3, 60, 3), (1200,)])
def test_odd_shapes_are_fitted_sampled_and_kept(shape, tmp_path):
    """By every preset's kind of stage, with and without axes."""
    x = np.random.default_rng(0).normal(size=(60, *shape)) * 3 - 1
    schedule = [replace(stage, steps=2) for stage in by_name("quick", shape)]
    model = SlicedFlow(schedule=schedule, random_state=0).fit(x, np.arange(60) % 2).model_
    model.save(tmp_path / "model.zip")
    samples = model.sample(10, 1, random_state=0)
    assert np.array_equal(load(tmp_path / "model.zip").sample(10, 1, random_state=0), samples)
    assert abs(samples.mean() + 1) < 1


COLOUR = np.random.default_rng(0).integers(256, size=(1200, 3, 8, 8)).astype(np.uint8)


def test_images_that_start_from_blends_have_fine_levels_alone():
    plan = SlicedFlow(schedule="quick", random_state=0).plan(COLOUR)
    assert isinstance(plan.flow.initial, Blends)
    levels = [stage.resolution for stage in plan.spec.schedule]
    assert min(levels) > 4
    assert levels == sorted(levels)
    assert levels[-1] == 8


@pytest.mark.parametrize(
    ("images", "settings", "y"),
    [
        (COLOUR, {"observed": "left"}, None),
        (COLOUR, {}, np.linspace(0, 1, 1200)),
        (COLOUR, {}, np.arange(1200) % 2),
        (COLOUR[:800], {}, None),
    ],
    ids=["part", "numbers", "small classes", "few"],
)
def test_images_that_cannot_start_from_blends_climb_the_pyramid(images, settings, y):
    plan = SlicedFlow(schedule="quick", random_state=0, **settings).plan(images, y)
    assert isinstance(plan.flow.initial, Gaussian)
    assert plan.spec.schedule[0].resolution == 1


def test_blends_of_rare_classes_are_refined_only_if_the_start_sees_enough_of_each():
    """The start draws 20,000 rows: of 64,000, three in a hundred are 600 of those, not 1,920."""
    images = np.zeros((64_000, 3, 2, 2), np.uint8)
    plan = SlicedFlow(schedule="quick", random_state=0).plan(images, np.arange(64_000) % 32)
    assert isinstance(plan.flow.initial, Gaussian)
