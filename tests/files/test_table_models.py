"""Files of models of tables: the same rows after loading, and nothing that is damaged is read."""

import json
import math
from zipfile import ZipFile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mixed_table import mixed

import sliceflow
from sliceflow import FileError, SlicedTable
from sliceflow.data._tables import load_csv
from sliceflow.files import _archive

TABLES = {
    "pandas": mixed(),
    "polars": pl.from_pandas(mixed()),
    "array": np.random.default_rng(0).normal(size=(100, 3)),
    "words": np.array([["a", 1], ["b", 2]] * 30, dtype=object),
    "two rows": pd.DataFrame({"a": [1, 2], "b": ["x", "x"]}),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_loaded_model_draws_the_same_rows(table, tmp_path):
    model = SlicedTable(random_state=0).fit(table)
    model.save(tmp_path / "model.zip")
    drawn = model.sample(30, random_state=1)
    again = sliceflow.load(tmp_path / "model.zip").sample(30, random_state=1)
    if isinstance(table, np.ndarray):
        assert again.dtype == drawn.dtype
        assert (again == drawn).all()
    else:
        assert again.equals(drawn)


def test_the_same_fit_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        SlicedTable(random_state=0).fit(TABLES["pandas"]).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_any_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "model.zip"
    SlicedTable(random_state=0).fit(TABLES["words"]).save(path)
    data = path.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(data), 60):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(FileError):
            sliceflow.load(path)


WRONG = [None, -1, "x", [], {}, [2**40], [[[]]], math.nan, 1e300, "1", True, 1.5, "object", ";;"]


def places(config):
    """Yield where the values of a configuration are, however deep."""
    inside = config.items() if isinstance(config, dict) else enumerate(config)
    for key, value in inside:
        if key not in ("libraries", "version"):
            yield config, key
            if isinstance(value, dict | list):
                yield from places(value)


@pytest.mark.parametrize("kind", ["frame", "array", "text"])
def test_made_up_settings_are_refused_or_draw_rows(kind, tmp_path):
    """Their checksums are right, so only what they say can tell."""
    table = mixed()[["city", "age", "since", "size"]]
    if kind == "text":
        table.to_csv(tmp_path / "table.csv", index=False)
        table = load_csv(tmp_path / "table.csv")
    SlicedTable(random_state=0).fit(TABLES["array"] if kind == "array" else table).save(
        tmp_path / "good.zip"
    )
    with ZipFile(tmp_path / "good.zip") as file:
        parts = {n: file.read(n) for n in file.namelist() if n != _archive.MANIFEST}
    rng, n_refused = np.random.default_rng(0), 0
    for _ in range(200):
        config = json.loads(parts["config.json"])
        inside, key = (found := list(places(config)))[rng.integers(len(found))]
        inside[key] = WRONG[rng.integers(len(WRONG))]
        changed = parts | {"config.json": json.dumps(config).encode()}
        _archive.write(tmp_path / "bad.zip", changed.items())
        try:
            sliceflow.load(tmp_path / "bad.zip").sample(3)
        except FileError:
            n_refused += 1
    assert n_refused > 100
