"""Tables come back as they were: the same library, columns, order, dtypes and values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from mixed_table import mixed

from sliceflow.data._tables import load_csv
from sliceflow.tables._layouts import read_table


def restored(table):
    layout, raws = read_table(table)
    columns = {raw.name: raw.column().decode(raw.codes(raw.column())) for raw in raws}
    return layout.restore(columns)


def test_pandas():
    table = mixed()
    pd.testing.assert_frame_equal(restored(table), table)


def test_polars():
    table = pl.from_pandas(mixed())
    back = restored(table)
    assert back.schema == table.schema
    assert back.equals(table)


def test_pyarrow():
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None], "c": [1.5, 2.5, None]})
    assert restored(table).equals(table)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64", "uint8", "bool"])
def test_arrays(dtype):
    table = np.random.default_rng(0).integers(0, 2, (30, 3)).astype(dtype)
    assert restored(table).dtype == table.dtype
    assert (restored(table) == table).all()


def test_an_array_of_words_and_numbers():
    table = np.array([["a", 1.5], ["b", None], ["a", 3.0]], dtype=object)
    back = restored(table)
    assert back.tolist() == [["a", 1.5], ["b", None], ["a", 3.0]]


def test_text(tmp_path):
    lines = [
        "name;born;size;code;height;share",
        "Åse;31.12.1980;S;00501;1,80;0,5",
        '"Bo; Jr";01.02.1990;;00502;1,75;',
        "Åse;05.06.1985;L;00501;;0,25",
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines), encoding="utf-8-sig")
    table = load_csv(path)
    back = {name: column.tolist() for name, column in restored(table).columns.items()}
    assert back == {name: column.tolist() for name, column in table.columns.items()} | {
        "share": ["0,50", "", "0,25"]
    }


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (pd.DataFrame({"a": []}), ValueError, "the table is empty"),
        (pd.DataFrame({"a": [1.0, np.inf]}), ValueError, "a has infinite values"),
        (np.zeros(3), ValueError, r"pass rows of columns, \(n, d\)"),
        ([[1, 2]], TypeError, "a table cannot be a list"),
    ],
)
def test_what_is_no_table_is_refused(table, error, message):
    with pytest.raises(error, match=message):
        read_table(table)
