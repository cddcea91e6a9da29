"""Gaps of rows, filled by a model of a table.

A row is completed as rows given its values are drawn, except that no gap is drawn. The maps for one
set of columns that are there are made from rows of the model itself, and kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from sliceflow.core._random import child_seed
from sliceflow.core._threads import parallel
from sliceflow.serve._limits import MAX_PATTERNS
from sliceflow.table_model import MAX_CHAINS, TableModel
from sliceflow.tables._chain import Chain
from sliceflow.tables._columns import GAP, Column
from sliceflow.tables._frames import Values
from sliceflow.tables._link import Link
from sliceflow.tables._questions import Question


@dataclass(frozen=True, eq=False)
class Incomplete:
    """Rows with gaps: their codes, (n, d), and the values of each column, (n,), where it has some.

    A code would not do: it is that of the nearest value of the data, if the value is beyond them.
    """

    codes: np.ndarray
    values: Sequence[np.ndarray]

    def repeat(self, n: int) -> Self:
        """Return each row n times."""
        values = [column.repeat(n) for column in self.values]
        return type(self)(self.codes.repeat(n, axis=0), values)


@dataclass(frozen=True, eq=False)
class Filling:
    """The maps of a model that fill gaps."""

    model: TableModel
    chains: dict[tuple[int, ...], Chain] = field(default_factory=dict)

    def read(self, rows: Sequence[Mapping[str, Any]]) -> Incomplete:
        """Return rows of values by column, if they have not too many patterns of gaps."""
        columns = self.model.columns
        codes = np.full((len(rows), len(columns)), float(GAP))
        values = [np.zeros(len(rows), column.dtype) for column in columns]
        for number, row in enumerate(rows):
            there = {name: value for name, value in row.items() if value is not None}
            question = Question.of(there, columns)
            for i, code in question.exact.items():
                codes[number, i], values[i][number] = code, question.values[i][0]
        patterns = len(np.unique(codes == GAP, axis=0))
        if patterns > MAX_PATTERNS:
            raise ValueError(
                f"the gaps are in {patterns} different sets of columns: send rows of at most "
                f"{MAX_PATTERNS} at a time"
            )
        return Incomplete(codes, values)

    def draw(self, rows: Incomplete, seed: int) -> Any:
        """Return rows with their gaps filled, as the kind of table that the data was."""
        gaps, filled = rows.codes == GAP, rows.codes.copy()
        patterns, which = np.unique(gaps, axis=0, return_inverse=True)
        for number, is_gap in enumerate(patterns):
            own = np.flatnonzero(which.ravel() == number)
            chain = self._chain(tuple(np.flatnonzero(~is_gap).tolist()))
            filled[own] = chain.draw(filled[own], child_seed(seed, number))
        return self.model.layout.restore(
            {
                column.name: _completed(column, values, filled[:, i], gaps[:, i])
                for i, (column, values) in enumerate(
                    zip(self.model.columns, rows.values, strict=True)
                )
            }
        )

    def _chain(self, there: tuple[int, ...]) -> Chain:
        """Return the maps of the other columns, given those that are there."""
        if there not in self.chains:
            if len(self.chains) >= MAX_CHAINS:
                del self.chains[next(iter(self.chains))]
            self.chains[there] = self._made(there)
        return self.chains[there]

    def _made(self, there: tuple[int, ...]) -> Chain:
        rest = [i for i in self.model.chain.order if i not in there]
        order, columns = (*there, *rest), self.model.columns
        codes = self.model.draw_codes() if rest else np.empty((0, len(columns)))

        def link(i: int) -> Link:
            known = codes[codes[:, i] != GAP]
            return Link.fit(known, columns, i, order[: order.index(i)], 0)

        return Chain(columns, tuple(parallel(link, rest)))


def _completed(column: Column, values: np.ndarray, codes: np.ndarray, gaps: np.ndarray) -> Values:
    """Return the values of a column, of which gaps are those of codes."""
    drawn, _ = column.decode(codes)
    return np.where(gaps, drawn, values), np.zeros(len(gaps), bool)
