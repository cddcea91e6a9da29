"""The kind of table that rows come in: a data frame, an array, or the text of a file."""

from collections.abc import Mapping
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from sliceflow.core._random import Draw, Key
from sliceflow.data._tables import StoredTable, Table
from sliceflow.tables._frames import ArrayLayout, FrameLayout, Values
from sliceflow.tables._raw import Raw
from sliceflow.tables._text import TextLayout

MAX_ROWS = 50_000
"""Maximum number of rows from which maps are made, unless another is asked for."""


class Layout(Protocol):
    """The kind of table that rows come in."""

    def restore(self, columns: Mapping[str, Values]) -> Any:
        """Return columns as such a table."""

    def read_value(self, name: str, text: str) -> Any:
        """Return a value of a column that a person has written."""


def rows_of(n: int, size: int, seed: int) -> np.ndarray:
    """Return the numbers of so many of n rows, drawn at random, in ascending order."""
    return np.arange(n) if n <= size else np.sort(Key(seed, Draw.SUBSET).rng().subset(n, size))


def some_rows(table: Any, size: int, seed: int) -> Any:
    """Return so many rows of a table, drawn at random, if there are more."""
    layout = _layout(table)
    if len(table) <= size:
        return table
    rows = rows_of(len(table), size, seed)
    if isinstance(table, StoredTable):
        return table.take(rows)
    if layout is ArrayLayout:
        return table[rows]
    return nw.from_native(table, eager_only=True)[rows].to_native()


def read_table(table: Any) -> tuple[Layout, list[Raw]]:
    """Return the layout and the columns of a data frame, an array (n, d), or a file's table."""
    if isinstance(table, StoredTable) and not isinstance(table, Table):
        table = table.take(np.arange(len(table)))
    layout, raws = _layout(table).read(table)
    names = [raw.name for raw in raws]
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two columns have the name {duplicates[0]}: rename one of them")
    if not raws or not len(raws[0].gaps):
        raise ValueError("the table is empty: pass at least one row and one column")
    return layout, raws


def _layout(table: Any) -> Any:
    if isinstance(table, StoredTable):
        return TextLayout if isinstance(table, Table) else FrameLayout
    if isinstance(table, np.ndarray):
        return ArrayLayout
    if hasattr(table, "columns"):
        return FrameLayout
    raise TypeError(
        f"a table cannot be a {type(table).__name__}: pass a data frame, or an array (n, d)"
    )
