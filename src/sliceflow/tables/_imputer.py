"""`SlicedImputer`: fills the gaps of tables, as a transformer of scikit-learn."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sliceflow.core._parameters import Parameters
from sliceflow.core._validation import check_integer, check_seed
from sliceflow.notebook._panel import Panel
from sliceflow.notebook._rows import Rows
from sliceflow.tables._columns import GAP, Column
from sliceflow.tables._described import described
from sliceflow.tables._frames import Values
from sliceflow.tables._imputation import Imputation
from sliceflow.tables._layouts import MAX_ROWS, read_table, rows_of
from sliceflow.tables._raw import Raw, Type
from sliceflow.tables._types import encoded, typed


class SlicedImputer(Parameters):
    """Fill the gaps of a table with draws of what is missing, given what is there.

    Each gap is drawn from its distribution, and not replaced by its mean. So completed tables are
    as spread as the data, and several of them show how uncertain a gap is. Columns may be numbers,
    words, dates or anything that `SlicedTable` takes; those that only name a row stay as they are.
    Values that are there stay as they are, too.

    Parameters
    ----------
    types : dict, optional
        What columns are, by name, where what is found is not right; see `SlicedTable`.
    random_state : int, NumPy generator or None
        The seed.

    Attributes
    ----------
    feature_names_in_ : array
        The names of the columns.
    n_features_in_ : int
        Their number.

    Examples
    --------
    >>> import pandas as pd
    >>> from sliceflow import SlicedImputer
    >>> table = pd.DataFrame({"a": [1, 2, 3, 4] * 25, "b": ["x", "x", "y", "y"] * 25})
    >>> table.loc[0, "b"] = None
    >>> SlicedImputer(random_state=0).fit_transform(table).head(2)
       a  b
    0  1  x
    1  2  x
    """

    def __init__(
        self, *, types: Mapping[str, Type] | None = None, random_state: Any = None
    ) -> None:
        self.types = types
        self.random_state = random_state

    def fit(self, table: Any, y: None = None) -> Self:
        """Make the maps of all columns that have gaps, given all others."""
        self.seed_ = check_seed(self.random_state)
        _, raws = read_table(table)
        n = len(raws[0].gaps)
        kept = typed(raws, self.types, n)
        columns = tuple(raw.column() for raw in kept)
        codes = encoded(kept, columns)
        with_gaps = np.flatnonzero((codes == GAP).any(axis=0)).tolist()
        some = codes[rows_of(n, MAX_ROWS, self.seed_)]
        self.imputation_ = Imputation.fit(some, columns, with_gaps, self.seed_)
        self.feature_names_in_ = np.array([raw.name for raw in raws], dtype=object)
        self.n_features_in_ = len(raws)
        return self

    def transform(self, table: Any) -> Any:
        """Return the table with its gaps filled; the same table is always filled alike."""
        return self.draw(table, 1)[0]

    def fit_transform(self, table: Any, y: None = None) -> Any:
        """Make the maps, and return the table with its gaps filled."""
        return self.fit(table).transform(table)

    def draw(self, table: Any, n: int = 1) -> list[Any]:
        """Return n completed tables, whose gaps are drawn independently."""
        if not hasattr(self, "imputation_"):
            raise ValueError("this SlicedImputer is not fitted: call fit(table) first")
        layout, raws = read_table(table)
        columns = self.imputation_.columns
        by_name = {raw.name: raw for raw in raws}
        self._check(by_name)
        kept = [by_name[column.name] for column in columns]
        codes = encoded([self._retyped(raw) for raw in kept], columns)
        tables = []
        for number in range(check_integer("n", n, 1)):
            drawn = self.imputation_.draw(codes, self.seed_ + number)
            values: dict[str, Values] = {raw.name: (raw.values, raw.gaps) for raw in raws}
            for i, (raw, column) in enumerate(zip(kept, columns, strict=True)):
                values[raw.name] = _completed(raw, column, drawn[:, i])
            tables.append(layout.restore(values))
        return tables

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns."""
        return self.feature_names_in_

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows, or None for the plain `repr`."""
        if not hasattr(self, "imputation_"):
            return None
        columns, links = self.imputation_.columns, self.imputation_.links
        filled = ", ".join(columns[link.column].name for link in links)
        rows = Rows([column.name for column in columns], (), **described(columns))
        return Panel(repr(self), {"fills gaps of": filled or "no column"}, rows=rows).html()

    def _retyped(self, raw: Raw) -> Raw:
        given = (self.types or {}).get(raw.name)
        return raw if given is None else raw.as_type(given)

    def _check(self, raws: Mapping[str, Raw]) -> None:
        """Refuse a table without the columns of the fit, or with gaps where that had none."""
        drawn = {link.column for link in self.imputation_.links}
        for i, column in enumerate(self.imputation_.columns):
            if column.name not in raws:
                raise ValueError(f"the table has no column {column.name!r}, which fit had")
            if raws[column.name].gaps.any() and i not in drawn:
                raise ValueError(
                    f"{column.name} has gaps, and had none in fit: fit to rows with such gaps"
                )


def _completed(raw: Raw, column: Column, codes: np.ndarray) -> Values:
    """Return the values of a column, of which gaps are those of codes."""
    drawn, _ = column.decode(codes)
    values = (
        raw.values.copy() if raw.values.dtype == drawn.dtype else raw.values.astype(drawn.dtype)
    )
    values[raw.gaps] = drawn[raw.gaps]
    return values, np.zeros(len(values), bool)


def impute(table: Any, n: int = 1, random_state: Any = None) -> list[Any]:
    """Return n completed tables: the gaps of each are drawn, given what is there."""
    return SlicedImputer(random_state=random_state).fit(table).draw(table, n)
