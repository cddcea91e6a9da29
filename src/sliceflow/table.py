"""`SlicedTable`: the estimator for tables of any columns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from sliceflow.core._parameters import Parameters
from sliceflow.core._random import Draw, Key
from sliceflow.core._validation import check_flag, check_integer, check_seed
from sliceflow.table_model import TableModel
from sliceflow.tables._chain import Chain
from sliceflow.tables._layouts import read_table
from sliceflow.tables._questions import Given
from sliceflow.tables._raw import Raw, Type
from sliceflow.tables._types import encoded, typed

MAX_ROWS = 50_000
"""Default maximum number of rows from which maps are made."""


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
        random_state: Any = None,
    ) -> None:
        self.types = types
        self.keep_gaps = keep_gaps
        self.max_rows = max_rows
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
        layout, raws = read_table(table)
        seed = check_seed(self.random_state)
        raws = _subset(typed(raws, self.types), check_integer("max_rows", self.max_rows, 2), seed)
        columns = tuple(raw.column() for raw in raws)
        codes = encoded(raws, columns)
        keep_gaps = check_flag("keep_gaps", self.keep_gaps)
        chain = Chain.fit(codes, columns, _order(columns, given), seed, keep_gaps)
        self.model_ = TableModel(layout, columns, chain, len(codes))
        self.seed_, self.n_features_in_ = seed, len(raws)
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        return self

    def sample(self, n: int, given: Given | None = None, random_state: Any = None) -> Any:
        """Return n new rows; see `TableModel.sample`."""
        return self._fitted().sample(n, given, random_state)

    def save(self, path: str | Path, about: str = "") -> None:
        """Write the model to a file, which `sliceflow.load` reads; see `TableModel.save`."""
        self._fitted().save(path, about)

    def _fitted(self) -> TableModel:
        if not hasattr(self, "model_"):
            raise ValueError("this SlicedTable is not fitted: call fit(table) first")
        return self.model_


def _subset(raws: list[Raw], size: int, seed: int) -> list[Raw]:
    """Return the columns of so many rows, drawn at random, if there are more."""
    n = len(raws[0].gaps)
    if n <= size:
        return raws
    rows = Key(seed, Draw.SUBSET).rng().subset(n, size)
    return [raw[rows] for raw in raws]


def _order(columns: Sequence[Any], given: Sequence[str]) -> list[int]:
    """Return the numbers of the columns: given ones first, then the others."""
    numbers = {column.name: i for i, column in enumerate(columns)}
    if unknown := [name for name in given if name not in numbers]:
        raise ValueError(f"there is no column {unknown[0]!r}: choose from {list(numbers)}")
    first = [numbers[name] for name in given]
    return [*first, *(i for i in numbers.values() if i not in first)]
