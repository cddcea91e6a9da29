"""Files of models of tables: the same rows after loading, and nothing that is damaged is read."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mixed_table import mixed

import sliceflow
from sliceflow import FileError, SlicedTable

TABLES = {
    "pandas": mixed(),
    "polars": pl.from_pandas(mixed()),
    "array": np.random.default_rng(0).normal(size=(100, 3)),
    "words": np.array([["a", 1], ["b", 2]] * 30, dtype=object),
    "one row": pd.DataFrame({"a": [1], "b": ["x"]}),
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
