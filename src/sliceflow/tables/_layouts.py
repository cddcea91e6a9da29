"""The kind of table that rows come in: a data frame, an array, or the text of a file."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from sliceflow.data._tables import Table
from sliceflow.tables._frames import ArrayLayout, FrameLayout, Values
from sliceflow.tables._raw import Raw
from sliceflow.tables._text import TextLayout


class Layout(Protocol):
    """The kind of table that rows come in."""

    def restore(self, columns: Mapping[str, Values]) -> Any:
        """Return columns as such a table."""

    def read_value(self, name: str, text: str) -> Any:
        """Return a value of a column that a person has written."""


def read_table(table: Any) -> tuple[Layout, list[Raw]]:
    """Return the layout and the columns of a data frame, an array (n, d), or a file's table."""
    layout, raws = _layout(table).read(table)
    names = [raw.name for raw in raws]
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two columns have the name {duplicates[0]}: rename one of them")
    if not raws or not len(raws[0].gaps):
        raise ValueError("the table is empty: pass at least one row and one column")
    return layout, raws


def _layout(table: Any) -> Any:
    if isinstance(table, Table):
        return TextLayout
    if isinstance(table, np.ndarray):
        return ArrayLayout
    if hasattr(table, "columns"):
        return FrameLayout
    raise TypeError(
        f"a table cannot be a {type(table).__name__}: pass a data frame, or an array (n, d)"
    )
