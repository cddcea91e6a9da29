"""Columns of words and numbers together as conditions."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from sliceflow import SlicedFlow, load
from sliceflow.codec import Codec
from sliceflow.codec._words import Words

RNG = np.random.default_rng(0)
N = 1500
SIZES = np.array(["large", "medium", "small"])


def made():
    """Return x whose mean depends on a word and a number, and y as a data frame."""
    size, weight = RNG.integers(3, size=N), RNG.uniform(-1, 1, size=N)
    x = 3 * size + (1 + size) * weight + 0.3 * RNG.normal(size=N)
    return x[:, None], pd.DataFrame({"size": SIZES[size], "weight": weight})


X, Y = made()


@pytest.fixture(scope="module")
def flow():
    return SlicedFlow(schedule="quick", random_state=0).fit(X, Y)


@pytest.mark.parametrize("size", range(3))
@pytest.mark.parametrize("weight", [-0.5, 0.8])
def test_samples_follow_the_word_and_the_number(flow, size, weight):
    samples = flow.sample(1000, y=[SIZES[size], weight], random_state=1)
    assert samples.mean() == pytest.approx(3 * size + (1 + size) * weight, abs=0.15)
    assert samples.std() == pytest.approx(0.3, abs=0.08)


def test_every_form_of_y_is_the_same(flow):
    forms = [
        ["small", 0.5],
        ("small", 0.5),
        np.array(["small", 0.5], dtype=object),
        pd.DataFrame({"weight": [0.5], "size": ["small"]}),
        pd.Series({"weight": 0.5, "size": "small"}),
        [["small", 0.5]] * 3,
    ]
    first, *others = (flow.sample(3, y=y, random_state=0) for y in forms)
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_a_saved_model_has_its_words(flow, tmp_path):
    flow.save(tmp_path / "m.zip")
    loaded = load(tmp_path / "m.zip")
    assert loaded.codec.columns == ("x0", "size", "weight")
    y = ["large", 0.0]
    np.testing.assert_array_equal(loaded.sample(5, y, 1), flow.sample(5, y, 1))


@pytest.mark.parametrize(
    ("y", "fix"),
    [
        (["huge", 0.5], "unknown labels ['huge']: the model has ['large', 'medium', 'small']"),
        ([1, 0.5], "unknown labels [1]"),
        (["small", "heavy"], "y must be numbers"),
        (["small", np.nan], "y contains NaN"),
        (["small"], "one y for all"),
        (None, "pass y, the values of 2 columns"),
        (pd.DataFrame({"size": ["small"]}), "y has no column weight"),
    ],
)
def test_a_wrong_y_is_refused(flow, y, fix):
    with pytest.raises(ValueError, match=re.escape(fix)):
        flow.sample(1, y=y)


def test_a_number_beyond_the_data_is_named(flow):
    with pytest.warns(UserWarning, match="weight is given beyond the data"):
        flow.sample(1, y=["small", 9.0])


def test_words_become_columns_and_words_again():
    y = np.array([["b", 1.5, True], ["a", -2.0, False], ["b", 0.0, False]], dtype=object)
    words = Words.of(y)
    expected = [[0, 1, 0], [1, 0, 1], [1.5, -2, 0], [0, 1, 1], [1, 0, 0]]
    assert torch.equal(words.expand(y), torch.tensor(expected, dtype=torch.float64))
    np.testing.assert_array_equal(words.collapse(words.expand(y)), y)
    assert words.repeat(["k", "v", "s"]) == ["k", "k", "v", "s", "s"]


@pytest.mark.parametrize(
    "y", [np.zeros((3, 2)), torch.zeros(3, 2), ["a", "b"], [["a"], ["b"]], None, 3.0]
)
def test_only_several_columns_with_words_are_mixed(y):
    assert Words.of(y) is None


def test_particles_know_their_words():
    codec = Codec.fit(X, Y)
    back = codec.decode_y(codec.encode(X[:20], Y[:20]))
    np.testing.assert_array_equal(back[:, 0], Y["size"][:20])
    np.testing.assert_allclose(back[:, 1].astype(float), Y["weight"][:20], atol=0.02)


@pytest.mark.parametrize(
    ("column", "fix"),
    [
        (["a", None, "b", "a"], "missing values"),
        (["a", 1, "b", "a"], "labels of several types"),
        (["a", "a", "a", "a"], "column 0 of y is always a: leave it out"),
    ],
)
def test_columns_that_are_neither_words_nor_numbers_are_refused(column, fix):
    y = pd.DataFrame({"word": column, "number": RNG.normal(size=4)})
    with pytest.raises(ValueError, match=fix):
        SlicedFlow().fit(RNG.normal(size=(4, 1)), y)


def test_numbers_that_numpy_turned_into_words_are_refused():
    y = np.array([["Paris", 30], ["Rome", 40]] * 10)
    with pytest.raises(ValueError, match="column 1 of y has numbers written as words"):
        SlicedFlow().fit(RNG.normal(size=(20, 1)), y)


def test_images_are_given_words_and_numbers_too():
    y = pd.DataFrame({"word": ["a", "b"] * 10, "number": np.arange(20) / 7})
    x = RNG.uniform(-1, 1, size=(20, 1, 4, 4))
    flow = SlicedFlow(schedule=2, random_state=0).fit(x, y)
    assert flow.sample(2, y=["a", 1.5]).shape == (2, 1, 4, 4)
