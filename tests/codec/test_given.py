"""What y is, and what is given when sampling: labels or numbers, by name, and within the data."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from sliceflow import Codec, Exact, SlicedFlow, Stage, load
from sliceflow.codec._conditions import Label, Summary
from sliceflow.codec._residuals import MAX_CURVED
from sliceflow.codec._support import MAX_EDGE_ROWS, Support

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))


def quick(**parameters):
    return SlicedFlow(**{"schedule": 3, "random_state": 0} | parameters)


def condition(y, **parameters):
    return quick(**parameters).plan(X, y).codec.condition


FEW_NUMBERS = np.arange(200) % 7
LABELS = {
    "words": np.array(["a", "b"] * 100),
    "truth values": FEW_NUMBERS > 3,
    "few whole numbers": FEW_NUMBERS,
    "few whole floats": FEW_NUMBERS.astype(float),
    "a column of them": FEW_NUMBERS[:, None],
    "a hundred": np.arange(200) % 100,
    "a tensor": torch.from_numpy(FEW_NUMBERS),
    "a series": pd.Series(FEW_NUMBERS, name="kind"),
    "categories": pd.Series(["a", "b"] * 100, dtype="category"),
}
NUMBERS = {
    "fractions": X[:, 0],
    "two columns": X,
    "whole floats, too many": np.arange(200.0),
    "whole floats, two columns": np.stack([FEW_NUMBERS, FEW_NUMBERS + 1.0], axis=1),
    "half": X[:, 0].astype(np.float16),
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_labels(y):
    assert isinstance(condition(y), Label)


@pytest.mark.parametrize("y", NUMBERS.values(), ids=NUMBERS)
def test_numbers(y):
    assert type(condition(y)) is Summary


def test_many_whole_numbers_are_numbers_and_one_is_told():
    with pytest.warns(
        UserWarning, match="200 different whole numbers, which are treated as numbers"
    ):
        assert type(condition(np.arange(200))) is Summary


def test_what_y_is_can_be_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(condition(np.arange(200), y_type="labels"), Label)
        assert type(condition(FEW_NUMBERS, y_type="numbers")) is Summary
        assert condition(np.stack([FEW_NUMBERS] * 2, axis=1), y_type="numbers").l == 2


def test_labels_that_are_floats(tmp_path):
    model = quick().fit(X, FEW_NUMBERS.astype(float)).model_
    model.save(tmp_path / "model.zip")
    assert load(tmp_path / "model.zip").sample(2, y=3.0).shape == (2, 2)
    with pytest.raises(ValueError, match=r"unknown labels \[2.5\].*y_type=\"numbers\""):
        model.sample(2, y=2.5)


def gaussians(d=1, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


@pytest.fixture(scope="module")
def independent():
    """A model of x that does not depend on y, both N(0, 1)."""
    return SlicedFlow(random_state=0).fit(*gaussians())


@pytest.mark.parametrize(("y", "is_beyond"), [(2, False), (3, False), (4, True), (10, True)])
def test_a_condition_beyond_the_data_is_the_nearest(independent, y, is_beyond):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        samples = independent.sample(4000, y=float(y), random_state=0)
    assert abs(samples.mean()) <= 0.3
    assert 0.8 <= samples.std() <= 1.2
    expected = ["y is given beyond the data, which ranges from -3.37158 to 3.14503"] * is_beyond
    assert [str(warning.message).partition(":")[0] for warning in told] == expected


def test_a_warning_names_the_column_and_a_file_knows_it(tmp_path):
    y = pd.DataFrame({"age": np.linspace(18, 90, 200), "income": RNG.normal(size=200)})
    model = quick().fit(X, y).model_
    model.save(tmp_path / "model.zip")
    given = pd.DataFrame({"age": [50.0, 200.0], "income": [0.0, 0.0]})
    for each in (model, load(tmp_path / "model.zip")):
        with pytest.warns(UserWarning, match="age is given beyond .* from 18 to 90"):
            each.sample(2, given)


def test_observed_columns_beyond_the_data():
    """They come back as they were given, and the others are those of the nearest."""
    x = np.column_stack(gaussians())
    model = SlicedFlow(observed=np.array([False, True]), random_state=0).fit(x)
    with pytest.warns(UserWarning, match="x1 is given beyond the data"):
        samples = model.sample(4000, y=[np.nan, 10.0], random_state=0)
    assert (samples[:, 1] == 10).all()
    assert abs(samples[:, 0].mean()) <= 0.3
    assert 0.8 <= samples[:, 0].std() <= 1.2


def test_an_outlier_does_not_stretch_the_range():
    x, y = gaussians()
    x[:, 0] += y
    y[0] = 1e6
    samples = SlicedFlow(random_state=0).fit(x, y).sample(2000, y=1.0, random_state=0)
    assert abs(samples.mean() - 1) <= 0.3
    assert 0.8 <= samples.std() <= 1.2


@pytest.mark.parametrize(("n", "edge_rows"), [(2, 1), (99, 1), (500, 5), (5000, MAX_EDGE_ROWS)])
def test_the_support_of_a_column(n, edge_rows):
    z = torch.randperm(n).double().expand(3, n)
    support = Support.of(z, torch.tensor([0, 2]))
    assert support.ends.tolist() == [[0, n - 1]] * 2
    assert support.edges.tolist() == [[edge_rows - 1, n - edge_rows]] * 2
    clipped = support.clip(z)
    assert torch.equal(clipped[1], z[1])
    assert clipped[0].min() == edge_rows - 1
    assert (clipped[2] == n - edge_rows).sum() == edge_rows


def test_a_column_that_is_nearly_constant():
    y = np.where(np.arange(2000) < 3, 5.0, 0.5)
    x = y[:, None] + 0.1 * np.random.default_rng(0).normal(size=(2000, 1))
    assert np.isfinite(SlicedFlow(random_state=0).fit(x, y).sample(50, y=0.5)).all()


def test_a_column_that_is_constant_in_the_rows_of_a_metric():
    y = np.where(np.arange(10_000) < 2, 5.0, 0.5)
    x = y[:, None] + 0.1 * np.random.default_rng(0).normal(size=(10_000, 1))
    assert np.isfinite(SlicedFlow(schedule=20, random_state=0).fit(x, y).sample(50, y=0.5)).all()


def test_patches_of_a_table_given_numbers():
    x, y = RNG.normal(size=(300, 5)), RNG.normal(size=300)
    flow = SlicedFlow(schedule=[Stage(5, patch=2)], random_state=0).fit(x, y)
    assert flow.sample(7, y=0.5).shape == (7, 5)


@pytest.mark.parametrize("stage", [Stage(5, band=1), Stage(5, patch=2, shared=True)])
def test_stages_that_a_table_given_numbers_does_not_use_are_refused(stage):
    with pytest.raises(ValueError, match="a table given numbers does not use: leave them out"):
        SlicedFlow(schedule=[stage]).fit(RNG.normal(size=(300, 5)), RNG.normal(size=300))


def test_the_exact_engine_takes_small_steps():
    x = RNG.normal(size=(100, 2))
    whole, half = (
        SlicedFlow(schedule=[Stage(1, step_size=s)], engine=Exact(7), random_state=0).fit(x)
        for s in (1.0, 1e-6)
    )
    assert np.abs(whole.particles_ - half.particles_).max() > 0.01


def test_wide_tables_given_numbers_are_predicted_by_lines():
    y = RNG.normal(size=300)
    x = y[:, None] + 0.1 * RNG.normal(size=(300, MAX_CURVED + 1))
    flow = SlicedFlow(schedule=20, random_state=0).fit(x, y)
    assert not any(c.has_kernel for c in flow.model_.codec.residuals.regression.candidates)
    np.testing.assert_allclose(flow.sample(200, y=1.0, random_state=0).mean(), 1, atol=0.05)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_data_frame_are_found_by_name(frame):
    table = {name: RNG.normal(size=200) for name in ("a", "b", "c", "d")}
    x, y = (frame({name: table[name] for name in names}) for names in ("ab", "cd"))
    model = quick().fit(x, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    some, turned = (frame({name: table[name][:9] for name in names}) for names in ("cd", "dc"))
    np.testing.assert_array_equal(
        *(model.sample(9, each, random_state=0) for each in (some, turned))
    )
    with pytest.raises(ValueError, match="y has no column c: pass a data frame with c, d"):
        model.sample(9, frame({"d": table["d"][:9]}))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_observed_columns_of_a_data_frame_are_found_by_name(frame):
    table = {name: RNG.normal(size=200) for name in "abc"}
    model = quick(observed=np.array([True, False, True])).fit(frame(table))
    given = frame({"c": table["c"][:9], "a": table["a"][:9]})
    samples = model.sample(9, given)
    np.testing.assert_array_equal(samples[:, 0], table["a"][:9])
    np.testing.assert_array_equal(samples[:, 2], table["c"][:9])
    with pytest.raises(ValueError, match="y has no column a: pass a data frame with a, c"):
        model.sample(9, frame({"c": table["c"][:9]}))


def test_labels_are_found_exactly():
    """Not as NumPy compares them, which makes words of numbers, and floats of large ones."""
    y = np.arange(240) % 12
    model = quick(schedule=40).fit(100.0 * y[:, None] + RNG.normal(size=(240, 1)), y)
    with pytest.raises(ValueError, match="unknown labels"):
        model.sample(3, y="10")
    large = np.array([2**60, 2**60 + 1])[np.arange(200) % 2]
    model = quick(schedule=40).fit(100.0 * (large - 2**60)[:, None] + X[:, :1], large)
    assert abs(model.sample(50, y=np.uint64(2**60 + 1)).mean() - 100) < 10


@pytest.mark.parametrize(
    "y",
    [np.arange(200).astype(object), np.arange(200.0).astype(np.float32).astype(object)],
    ids=["integers", "floats"],
)
def test_numbers_in_objects_are_numbers(y):
    assert type(condition(y)) is Summary


STRINGS = np.array(["a", "b"] * 100)


@pytest.mark.parametrize("y", [STRINGS.astype("S"), STRINGS.astype(np.dtypes.StringDType())])
def test_strings_of_any_kind_are_labels(y, tmp_path):
    model = quick().fit(X, y)
    model.save(tmp_path / "model.zip")
    assert load(tmp_path / "model.zip").sample(2, y="a").shape == (2, 2)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.array([datetime.date(2026, 1, 1 + i % 2) for i in range(200)]), "type date"),
        (np.arange(200).astype("M8[D]"), "datetime64"),
        (pd.Series([True, None] * 100, dtype="boolean"), "missing values"),
    ],
)
def test_labels_that_no_file_knows_are_refused(y, said):
    with pytest.raises(ValueError, match=said):
        quick().fit(X, y)


def test_a_row_of_a_data_frame_is_read_by_name():
    y = pd.DataFrame({"a": np.linspace(0, 1, 200), "b": np.linspace(50, 60, 200)})
    model = quick().fit(X, y)
    rows = (y.iloc[3], y.iloc[3][["b", "a"]], y.iloc[[3]])
    one, *others = (model.sample(3, row, random_state=0) for row in rows)
    assert all((one == other).all() for other in others)


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two columns have the name a: rename one"):
        quick().fit(pd.DataFrame(X, columns=["a", "a"]))


def test_images_given_a_number_beyond_the_data():
    images = RNG.integers(256, size=(200, 1, 4, 4), dtype=np.uint8)
    model = quick(schedule=[Stage(2, 4)]).fit(images, X[:, 0])
    with pytest.warns(UserWarning, match="y is given beyond the data"):
        assert model.sample(3, y=100.0).shape == (3, 1, 4, 4)


def test_the_name_of_an_array_is_not_that_of_a_column():
    class NamedArray(np.ndarray):
        name = "temperature"

    x = np.random.default_rng(0).normal(size=(50, 2)).view(NamedArray)
    assert Codec.fit(x).names == ()
