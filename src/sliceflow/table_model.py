"""Models of tables: they draw rows, or rows given some of their values."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from sliceflow.core._random import child_seed
from sliceflow.core._validation import check_integer, check_seed
from sliceflow.files._table_models import read_table_model, write_table_model
from sliceflow.hub._mixin import OnHub
from sliceflow.notebook._panel import Panel
from sliceflow.notebook._rows import N_ROWS, Rows
from sliceflow.tables._chain import Chain
from sliceflow.tables._columns import GAP, Column
from sliceflow.tables._described import described
from sliceflow.tables._frames import Values
from sliceflow.tables._layouts import Layout
from sliceflow.tables._questions import Given, Question

MIN_DRAWN, MAX_DRAWN = 10_000, 50_000
"""A model draws ten times the rows that it was made from to answer a question, within these."""

MAX_QUICK = 50
"""Maximum number of columns of which notebooks draw rows unasked: at most a second on one core."""

MAX_TRIED, MAX_AT_ONCE = 1_000_000, 200_000
"""Maximum number of rows drawn until enough are within given ranges: in all, and at once."""

MAX_CHAINS = 32
"""Maximum number of sets of columns for which a model keeps the maps that answer questions."""


@dataclass(frozen=True, eq=False)
class TableModel(OnHub):
    """Draws rows of a table, without the data.

    Parameters
    ----------
    layout
        The kind of table that rows come in.
    columns
        The distinct values of each column.
    chain
        The maps that draw one column after another.
    n_rows
        The number of rows that the maps were made from.
    """

    layout: Layout
    columns: tuple[Column, ...]
    chain: Chain
    n_rows: int
    _chains: dict[tuple[tuple[int, ...], ...], Chain] = field(
        default_factory=dict, init=False, repr=False
    )

    def __repr__(self) -> str:
        return f"TableModel(n_rows={self.n_rows}, columns={len(self.columns)})"

    def sample(self, n: int, given: Given | None = None, random_state: Any = None) -> Any:
        """Return n new rows, as the kind of table that the data was.

        Parameters
        ----------
        n : int
            The number of rows.
        given : dict, optional
            Values of some columns, by name: one value, a range as a tuple of two, or a list of
            values; None is a gap. The first question about a set of columns takes about as long
            as the fit, unless the model was fitted with ``given`` these columns.
        random_state : int, NumPy generator or None
            The seed: the same seed gives the same rows. By default each call gives new rows.
        """
        return self.layout.restore(self._sampled(n, given, random_state))

    def show(self, n: int = N_ROWS, given: Given | None = None, random_state: Any = None) -> Rows:
        """Return n new rows to look at, which a notebook displays; see `sample`."""
        return Rows.of(self.sample_columns(n, given, random_state))

    def sample_columns(
        self, n: int, given: Given | None = None, random_state: Any = None
    ) -> dict[str, list[Any]]:
        """Return the columns of n new rows by name; gaps are None. See `sample`."""
        return {
            name: [None if is_gap else value for value, is_gap in zip(values, gaps, strict=True)]
            for name, (values, gaps) in self._sampled(n, given, random_state).items()
        }

    def _repr_html_(self) -> str:
        return self.panel("TableModel").html()

    def panel(self, title: str) -> Panel:
        """Return what a notebook shows: the columns, how their values are spread, and some rows."""
        facts = {"made from": f"{self.n_rows:,} rows", "columns": len(self.columns)}
        about = described(self.columns)
        if len(self.columns) > MAX_QUICK:
            rows = Rows([column.name for column in self.columns], (), **about)
            return Panel(title, facts, rows=rows, note="show() draws rows")
        return Panel(title, facts, rows=Rows.of(self.sample_columns(N_ROWS, None, 0), **about))

    def draw(self, n: int, question: Question, seed: int) -> Any:
        """Return n new rows that answer a question, as the kind of table that the data was."""
        return self.layout.restore(self._answered(n, question, seed))

    def _sampled(self, n: int, given: Given | None, random_state: Any) -> dict[str, Values]:
        """Return the values of n new rows by column, and which of them are gaps."""
        n, seed = check_integer("n", n, 1), check_seed(random_state)
        return self._answered(n, Question.of(given or {}, self.columns), seed)

    def _answered(self, n: int, question: Question, seed: int) -> dict[str, Values]:
        """Return the same for a question that is checked."""
        codes = self._drawn(n, question, seed)
        return {
            column.name: self._values(i, codes[:, i], question)
            for i, column in enumerate(self.columns)
        }

    def read_value(self, name: str, text: str) -> Any:
        """Return the value of a column that is written like this, as in a file of the data."""
        words = {str(w): w for c in self.columns if c.name == name for w in c.values.tolist()}
        return words.get(text, self.layout.read_value(name, text))

    def save(self, path: str | Path, about: str = "") -> None:
        """Write the model to a file, which `sliceflow.load` reads.

        The file has values of the data, and no row of it. ``about`` is the title of its card.
        """
        write_table_model(Path(path), (self.layout, self.columns, self.chain, self.n_rows), about)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model from a file. `FileError` says what is wrong with it."""
        return cls(*read_table_model(Path(path)))

    def _values(self, i: int, codes: np.ndarray, question: Question) -> Values:
        """Return the values of column i: those that are given as they are given."""
        column = self.columns[i]
        if i in question.values:
            return np.repeat(question.values[i], len(codes)), np.zeros(len(codes), bool)
        return column.decode(codes)

    def _drawn(self, n: int, question: Question, seed: int) -> np.ndarray:
        """Return n rows of codes, (n, d), that answer a question."""
        exact, allowed = question.exact, question.allowed
        chain = self._chain(tuple(sorted(exact)), tuple(sorted(allowed)))
        start = np.full((n, len(self.columns)), float(GAP))
        start[:, list(exact)] = list(exact.values())
        n_given = len(exact) + len(allowed)
        if allowed:
            start = self._allowed(chain, start, question, seed)
        return chain.draw(start, seed, first=n_given)

    def _allowed(
        self, chain: Chain, start: np.ndarray, question: Question, seed: int
    ) -> np.ndarray:
        """Return rows in which those columns are drawn that have several allowed values."""
        n, found, tried, first = len(start), [], 0, len(question.exact)
        last = first + len(question.allowed)
        while tried < max(MAX_TRIED, 100 * n):
            rows = np.resize(start, (min(max(n, tried), MAX_AT_ONCE), start.shape[1]))
            drawn = chain.draw(rows, child_seed(seed, tried), first, last)
            found.append(drawn[question.holds(drawn)])
            tried += len(rows)
            if sum(map(len, found)) >= n:
                return np.concatenate(found)[:n]
        names = ", ".join(self.columns[i].name for i in question.allowed)
        raise ValueError(
            f"of {tried:,} rows drawn, {sum(map(len, found)):,} have values of {names} as given: "
            "give wider ranges, or ask for fewer rows"
        )

    def draw_codes(self) -> np.ndarray:
        """Return rows of codes, (n, d), from which maps in another order are made."""
        rows = min(max(10 * self.n_rows, MIN_DRAWN), MAX_DRAWN)
        return self.chain.draw(np.full((rows, len(self.columns)), float(GAP)), 0)

    def _chain(self, exact: tuple[int, ...], allowed: tuple[int, ...]) -> Chain:
        """Return maps that begin with the columns that are given, those with one value first."""
        k, order = len(exact), self.chain.order
        is_first = set(order[:k]) == set(exact)
        if is_first and set(order[k : k + len(allowed)]) == set(allowed):
            return self.chain
        if (exact, allowed) not in self._chains:
            rest = (i for i in order if i not in (*exact, *allowed))
            self._chains[exact, allowed] = Chain.fit(
                self.draw_codes(), self.columns, (*exact, *allowed, *rest), 0, keep_gaps=True
            )
            if len(self._chains) > MAX_CHAINS:
                del self._chains[next(iter(self._chains))]
        return self._chains[exact, allowed]
