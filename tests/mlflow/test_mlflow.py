"""Models in MLflow, on a database of its own: the same samples, and no pickle."""

import datetime as dt
import os
import subprocess
import sys
from unittest.mock import patch

import mlflow
import numpy as np
import pandas as pd
import polars as pl
import pytest
from mixed_table import mixed

import sliceflow.mlflow
from sliceflow import FileError, SlicedFlow, SlicedTable, Stage

pytestmark = [  # MLflow warns of type hints of its own, and of what it asks of SQLAlchemy
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning"),
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning"),
]

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(256, size=(40, 1, 4, 4), dtype=np.uint8)
X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"])
SPEED = pd.Series(RNG.normal(size=60), name="speed")
CLASSES = np.array(["cat", "dog"])[np.arange(60) % 2]
PETS = pd.DataFrame({"pet": CLASSES, "speed": SPEED})
MASK = np.array([True, False, False])
N = 7


def flow(x, y=None, **settings):
    return SlicedFlow(schedule=3, random_state=0, **settings).fit(x, y).model_


def images(**settings):
    schedule = (Stage(2, 4),)
    return SlicedFlow(schedule=schedule, random_state=0, **settings).fit(IMAGES).model_


NOTHING, FIRST = pd.DataFrame(index=range(N)), X[["a"]][:N]
FLOWS = {
    "table": (flow(X), NOTHING, None),
    "arrays": (flow(X.to_numpy()), NOTHING, None),
    "whole numbers": (flow(RNG.integers(9, size=(60, 2))), NOTHING, None),
    "label": (flow(X, pd.Series(CLASSES, name="pet")), PETS[["pet"]][:N], CLASSES[:N]),
    "number": (flow(X, SPEED), PETS[["speed"]][:N], SPEED[:N]),
    "words and numbers": (flow(X, PETS), PETS[["speed", "pet"]][:N], PETS[:N]),
    "columns": (
        flow(X.to_numpy(), observed=MASK),
        pd.DataFrame({"x0": X["a"][:N]}),
        X[:N].to_numpy(),
    ),
    "named columns": (flow(X, observed=MASK), FIRST, X[:N]),
    "images": (images(), NOTHING, None),
    "halves": (images(observed="left"), IMAGES[:N], IMAGES[:N]),
}  # a model, what MLflow is given, and what `sample` is given


@pytest.fixture(scope="module", autouse=True)
def database(tmp_path_factory):
    """Use a database and a folder of their own. MLflow keeps them in the environment."""
    place = tmp_path_factory.mktemp("mlflow")
    with patch.dict(os.environ):
        mlflow.set_tracking_uri(f"sqlite:///{place}/mlflow.db")
        mlflow.set_experiment(experiment_id=mlflow.create_experiment("x", f"file://{place}"))
        yield
        mlflow.set_tracking_uri(None)


def saved(model, path):
    sliceflow.mlflow.save_model(model, path)
    return mlflow.pyfunc.load_model(str(path))


@pytest.mark.parametrize("name", FLOWS)
def test_predictions_are_samples(name, tmp_path):
    model, rows, y = FLOWS[name]
    drawn = saved(model, tmp_path / "model").predict(rows, {"random_state": 5})
    samples = model.sample(N, y, 5, output="numpy")
    assert np.array_equal(np.asarray(drawn), samples)
    if samples.ndim == 2:
        assert list(drawn.columns) == list(model.codec.columns[: samples.shape[1]])
        assert (drawn.dtypes == samples.dtype).all()


@pytest.mark.parametrize("name", ["table", "label", "halves"])
def test_several_samples_for_each_row(name, tmp_path):
    model, rows, y = FLOWS[name]
    each = None if y is None else np.repeat(y, 3, axis=0)
    drawn = saved(model, tmp_path / "model").predict(rows, {"random_state": 5, "n": 3})
    assert np.array_equal(np.asarray(drawn), model.sample(3 * N, each, 5, output="numpy"))


def test_without_a_seed_each_prediction_is_new(tmp_path):
    predictor = saved(FLOWS["table"][0], tmp_path / "model")
    assert not predictor.predict(NOTHING).equals(predictor.predict(NOTHING))


def test_a_logged_model_is_the_same(tmp_path):
    model = FLOWS["label"][0]
    with mlflow.start_run():
        info = sliceflow.mlflow.log_model(model, "pets", metadata={"kind": "pets"})
    again = sliceflow.mlflow.load_model(info.model_uri)
    assert np.array_equal(again.sample(5, "cat", 1), model.sample(5, "cat", 1))
    predictor = mlflow.pyfunc.load_model(info.model_uri)
    assert predictor.metadata.metadata == {"kind": "pets"}
    assert predictor.metadata.get_input_schema().input_names() == ["pet"]
    drawn = predictor.predict(PETS[:2], {"random_state": 1})  # other columns are left out
    assert np.array_equal(drawn.to_numpy(), model.sample(2, PETS["pet"][:2], 1))


def test_there_is_no_pickle(tmp_path):
    sliceflow.mlflow.save_model(FLOWS["table"][0], tmp_path / "model")
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert "model/data/model.zip" in files
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".py"))]
    assert "sliceflow[mlflow]==" in (tmp_path / "model" / "requirements.txt").read_text()


def test_a_damaged_file_is_refused(tmp_path):
    sliceflow.mlflow.save_model(FLOWS["table"][0], tmp_path / "model")
    (tmp_path / "model" / "data" / "model.zip").write_bytes(b"damaged")
    with pytest.raises(FileError, match="cannot be used"):
        mlflow.pyfunc.load_model(str(tmp_path / "model"))


def test_a_label_that_is_unknown(tmp_path):
    predictor = saved(FLOWS["label"][0], tmp_path / "model")
    with pytest.raises(ValueError, match="unknown labels"):
        predictor.predict(pd.DataFrame({"pet": ["cow"]}))


def test_no_rows(tmp_path):
    for model in (FLOWS["table"][0], TABLE):
        with pytest.raises(ValueError, match="no rows"):
            sliceflow.mlflow._load_pyfunc(_file(model, tmp_path)).predict(NOTHING[:0])


def _file(model, place):
    model.save(place / "model.zip")
    return place / "model.zip"


GAPS = pd.DataFrame({"city": [None] * N})
TABLE = SlicedTable(random_state=0).fit(mixed()).model_


def test_rows_of_a_table_given_nothing(tmp_path):
    drawn = saved(TABLE, tmp_path / "model").predict(GAPS, {"random_state": 5})
    pd.testing.assert_frame_equal(drawn, TABLE.sample(N, None, 5))


def test_rows_of_a_table_each_given_its_values(tmp_path):
    predictor = saved(TABLE, tmp_path / "model")
    given = pd.DataFrame({"city": ["Oslo", None, "Rome", "Oslo"], "age": [30, 30, np.nan, 30]})
    drawn = predictor.predict(given, {"random_state": 5, "n": 2})
    questions = [{"city": "Oslo", "age": 30}, {"age": 30}, {"city": "Rome"}]
    places = [[0, 1, 6, 7], [2, 3], [4, 5]]
    for number, (question, place) in enumerate(zip(questions, places, strict=True)):
        expected = TABLE.sample(len(place), question, 5 + number)
        pd.testing.assert_frame_equal(drawn.iloc[place].reset_index(drop=True), expected)


def test_every_kind_of_value_can_be_given(tmp_path):
    predictor, rows = saved(TABLE, tmp_path / "model"), mixed()[:3]
    for name in ("member", "since", "size", "visits", "large", "born"):
        drawn = predictor.predict(rows[[name]], {"random_state": 0})
        known = rows[name].notna().to_numpy()
        assert (drawn[name].to_numpy()[known] == rows[name].to_numpy()[known]).all(), name


@pytest.mark.parametrize("table", [pl.from_pandas(mixed()), X.to_numpy()], ids=["polars", "array"])
def test_tables_that_are_not_of_pandas_are_predicted_as_one(table, tmp_path):
    model = SlicedTable(random_state=0).fit(table).model_
    gaps = GAPS.set_axis([model.columns[0].name], axis=1)
    drawn = saved(model, tmp_path / "model").predict(gaps, {"random_state": 5})
    assert isinstance(drawn, pd.DataFrame)
    expected = model.sample(N, None, 5)
    expected = expected if isinstance(expected, np.ndarray) else expected["income"].to_numpy()
    ours = drawn.to_numpy() if isinstance(table, np.ndarray) else drawn["income"].to_numpy()
    assert np.array_equal(ours, expected)
    assert not isinstance(table, pl.DataFrame) or isinstance(drawn["born"][0], dt.date)


def test_mlflow_is_imported_only_when_used():
    code = "import sys, sliceflow; sliceflow.Model; assert 'mlflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_extra_the_error_says_what_to_install():
    code = "import sys; sys.modules['mlflow'] = None; import sliceflow.mlflow"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "sliceflow[mlflow]"' in done.stderr
