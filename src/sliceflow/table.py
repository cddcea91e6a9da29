"""`SlicedTable`: the estimator for tables of any columns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from sliceflow.core._parameters import Parameters
from sliceflow.core._validation import check_flag, check_integer, check_seed
from sliceflow.notebook._rows import N_ROWS, Rows
from sliceflow.table_model import TableModel
from sliceflow.tables._chain import Chain
from sliceflow.tables._compare import told_apart
from sliceflow.tables._layouts import MAX_ROWS, read_table, rows_of, some_rows
from sliceflow.tables._link import MAX_ONE_HOT
from sliceflow.tables._questions import Given
from sliceflow.tables._raw import Raw, Type
from sliceflow.tables._types import encoded, typed

MIN_ROWS = 2
"""Minimum number of rows to fit."""


class SlicedTable(Parameters):
    """Sample rows of a table: numbers, words, dates, and gaps.

    Columns are drawn one after another, each by a one-dimensional transport map made from the rows
    that are like the sample in the columns before (a Knothe–Rosenblatt rearrangement, whose maps
    are local in the leaves of random forests). Samples come as the data did: the same kind of data
    frame, columns, order and dtypes. Whole numbers are whole, values are within those of the data,
    and words occur as often as they do there.

    Parameters
    ----------
    types : dict, optional
        What columns are, by name, where what is found is not right: "numbers", "words", "id" (left
        out), or a list of words in their order.
    keep_gaps : bool
        Whether missing values are part of the data, and drawn too. By default samples are complete.
    max_rows : int
        The maximum number of rows from which maps are made, drawn from all rows.
    keep_rows : bool
        Whether these rows are kept for `partial_fit`. A saved model has none.
    random_state : int, NumPy generator or None
        The seed.

    Attributes
    ----------
    model_ : TableModel
        What draws rows, without the data.
    feature_names_in_ : array
        The names of the columns.
    n_features_in_ : int
        Their number.
    seed_ : int
        The seed used.
    n_rows_seen_ : int
        The number of rows of all fits.

    Examples
    --------
    >>> import pandas as pd
    >>> from sliceflow import SlicedTable
    >>> table = pd.DataFrame({"city": ["Rome", "Oslo"] * 50, "warm": [True, False] * 50})
    >>> model = SlicedTable(random_state=0).fit(table)
    >>> model.sample(2, given={"city": "Oslo"}, random_state=0)
       city   warm
    0  Oslo  False
    1  Oslo  False
    """

    def __init__(
        self,
        *,
        types: Mapping[str, Type] | None = None,
        keep_gaps: bool = False,
        max_rows: int = MAX_ROWS,
        keep_rows: bool = True,
        random_state: Any = None,
    ) -> None:
        self.types = types
        self.keep_gaps = keep_gaps
        self.max_rows = max_rows
        self.keep_rows = keep_rows
        self.random_state = random_state

    def fit(self, table: Any, y: None = None, *, given: Sequence[str] = ()) -> Self:
        """Make the maps of all columns.

        Parameters
        ----------
        table : data frame or array (n, d)
            Rows of pandas, polars, pyarrow or NumPy.
        y : None
            There for scikit-learn: y is a column of the table.
        given : sequence of str
            Columns that will be given when sampling. Samples given these are then drawn by maps of
            the data itself. Other questions can be asked too.
        """
        size, seed = check_integer("max_rows", self.max_rows, 2), check_seed(self.random_state)
        layout, raws = read_table(some_rows(table, size, seed))
        if len(table) < MIN_ROWS:
            raise ValueError(f"the table has one row: pass {MIN_ROWS} rows or more")
        self._model: TableModel | None = None
        self.given_, self.seed_, self._layout = tuple(given), seed, layout
        self._keep(typed(raws, self.types, len(table)), len(table))
        _ = self.model_  # made now, and not when it is first used
        return self

    def partial_fit(self, table: Any, y: None = None) -> Self:
        """Add rows to those of the fits before.

        What comes out is a fit of all rows. For that, as many rows as maps are made from, at most
        ``max_rows``, are kept: a random choice of all rows so far. The maps are made anew when they
        are next used. With ``keep_rows=False`` none is kept, and the model's own samples stand for
        the rows before: then quality is lost with each part.
        """
        if not hasattr(self, "seed_"):
            return self.fit(table)
        total = self.n_rows_seen_ + len(table)
        size = min(self.max_rows, total)
        n_new = round(size * len(table) / total)
        new = self._alike(read_table(some_rows(table, n_new, total))[1])
        old = self._rows or self._alike(read_table(self.model_.sample(size, None, total))[1])
        chosen = rows_of(len(old[0].gaps), size - n_new, total)
        self._keep([a[chosen].joined(b) for a, b in zip(old, new, strict=True)], total)
        return self

    @property
    def model_(self) -> TableModel:
        """What draws rows, without the data."""
        if self._model is None:
            self._model = self._made()
        return self._model

    def _alike(self, raws: Sequence[Raw]) -> list[Raw]:
        """Return the columns of the fit, of the same types."""
        by_name, types = {raw.name: raw for raw in raws}, dict(self.types or {})
        if missing := [name for name in self.feature_names_in_ if name not in by_name]:
            raise ValueError(f"the table has no column {missing[0]!r}, which the first fit had")
        found = [by_name[name] for name in self.feature_names_in_]
        found = [raw.as_type(types[raw.name]) if raw.name in types else raw for raw in found]
        return [raw.like(dtype) for raw, dtype in zip(found, self._dtypes, strict=True)]

    def _keep(self, rows: list[Raw], n_seen: int) -> None:
        """Keep rows, to make maps from."""
        self._rows: list[Raw] | None = rows
        self._model = None
        self._dtypes, self.n_rows_seen_ = [raw.values.dtype for raw in rows], n_seen
        self.n_features_in_ = len(rows)
        self.feature_names_in_ = np.array([raw.name for raw in rows], dtype=object)

    def _made(self) -> TableModel:
        """Return the maps of the rows that are kept."""
        assert self._rows is not None
        columns = tuple(raw.column() for raw in self._rows)
        codes, order = encoded(self._rows, columns), _order(columns, self.given_)
        keep_gaps = check_flag("keep_gaps", self.keep_gaps)
        chain = Chain.fit(codes, columns, order, self.seed_, keep_gaps)
        if not check_flag("keep_rows", self.keep_rows):
            self._rows = None
        return TableModel(self._layout, columns, chain, len(codes))

    def sample(self, n: int, given: Given | None = None, random_state: Any = None) -> Any:
        """Return n new rows; see `TableModel.sample`."""
        return self._fitted().sample(n, given, random_state)

    def show(self, n: int = N_ROWS, given: Given | None = None, random_state: Any = None) -> Rows:
        """Return n new rows to look at; see `TableModel.show`."""
        return self._fitted().show(n, given, random_state)

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows, or None for the plain `repr`, before maps are made."""
        model = getattr(self, "_model", None)
        return None if model is None else model.panel(repr(self)).html()

    def score(self, table: Any, y: None = None) -> float:
        """Return the error of a classifier that tells samples from these rows; at best 0.5.

        Higher is better, as scikit-learn's searches need it.
        """
        samples = self.sample(len(table), random_state=self.seed_)
        ours, theirs = (self._alike(read_table(rows)[1]) for rows in (samples, table))
        return 1 - told_apart(ours, theirs)

    def save(self, path: str | Path, about: str = "") -> None:
        """Write the model to a file, which `sliceflow.load` reads; see `TableModel.save`."""
        self._fitted().save(path, about)

    def _fitted(self) -> TableModel:
        if not hasattr(self, "seed_"):
            raise ValueError("this SlicedTable is not fitted: call fit(table) first")
        return self.model_


def _order(columns: Sequence[Any], given: Sequence[str]) -> list[int]:
    """Return the numbers of the columns: given ones first, then words, then the others.

    Numbers often differ between words, such as sizes between species. If the word comes first, it
    says which; if it came last, numbers of several words would be mixed before it is drawn.
    """
    numbers = {column.name: i for i, column in enumerate(columns)}
    if unknown := [name for name in given if name not in numbers]:
        raise ValueError(f"there is no column {unknown[0]!r}: choose from {list(numbers)}")
    first = [numbers[name] for name in given]
    rest = [i for i in numbers.values() if i not in first]
    return [*first, *sorted(rest, key=lambda i: not _is_of_few_words(columns[i]))]


def _is_of_few_words(column: Any) -> bool:
    return not column.is_ordered and len(column.values) <= MAX_ONE_HOT
