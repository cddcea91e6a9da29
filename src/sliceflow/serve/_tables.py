"""Models of tables as a service: rows given any values, and gaps filled."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from sliceflow.core._memory import check_memory
from sliceflow.data._tables import Table, is_missing
from sliceflow.serve._answers import Answer, TableAnswer, has_arrow
from sliceflow.serve._filling import Filling
from sliceflow.serve._problems import ProblemError
from sliceflow.serve._requests import (
    AnyOf,
    ImputeRequest,
    InpaintRequest,
    Range,
    SamplesRequest,
    Scalar,
    Value,
)
from sliceflow.serve._services import as_problems, check_format, with_warnings
from sliceflow.table_model import TableModel
from sliceflow.tables._columns import Column
from sliceflow.tables._questions import Question

MAX_LISTED = 100
"""Maximum number of words of a column that a description lists."""


@dataclass(eq=False)
class TableWork:
    """Rows of one request, drawn at once."""

    service: "TableService"
    n: int
    draw: Callable[[], Answer]
    warnings: list[str] = field(default_factory=list)
    drawn: Answer | None = None

    @property
    def is_done(self) -> bool:
        """Whether the rows are drawn."""
        return self.drawn is not None

    def answer(self) -> Answer:
        """Return the rows."""
        assert self.drawn is not None
        return self.drawn


@dataclass(frozen=True, eq=False)
class TableService:
    """A model of a table that is served."""

    name: str
    model: TableModel

    @cached_property
    def formats(self) -> list[str]:
        """The formats of answers."""
        return ["json", "csv", *["arrow"] * has_arrow()]

    @cached_property
    def filling(self) -> Filling:
        """The maps that fill gaps."""
        return Filling(self.model)

    def about(self) -> dict[str, Any]:
        """Describe the model."""
        columns = [_described(column) for column in self.model.columns]
        return {
            "name": self.name,
            "kind": "table",
            "shape": [len(columns)],
            "formats": self.formats,
            "does": ["samples", "impute"],
            "given": {"type": "any", "columns": columns},
            "columns": [column["name"] for column in columns],
        }

    def samples(self, body: SamplesRequest, seed: int) -> TableWork:
        """Return the work of drawing rows."""
        self._check(body.format, body.n)
        if not isinstance(body.given, dict | None):
            raise ProblemError(422, 'give values by column, such as given={"age": 30}')
        with as_problems():
            given = {name: self._value(name, value) for name, value in (body.given or {}).items()}
        question, warnings = with_warnings(lambda: Question.of(given, self.model.columns))

        def draw() -> Answer:
            table = self.model.draw(body.n, question, seed)
            return TableAnswer(table, columns_of(table, self.model.columns))

        return TableWork(self, body.n, draw, warnings)

    def impute(self, body: ImputeRequest, seed: int) -> TableWork:
        """Return the work of filling gaps."""
        n = len(body.rows) * body.n
        self._check(body.format, n)
        with as_problems():
            rows = [{name: self._one(name, v) for name, v in row.items()} for row in body.rows]
        incomplete, warnings = with_warnings(lambda: self.filling.read(rows))

        def draw() -> Answer:
            table = self.filling.draw(incomplete.repeat(body.n), seed)
            return TableAnswer(table, columns_of(table, self.model.columns), body.n)

        return TableWork(self, n, draw, warnings)

    def inpaint(self, body: InpaintRequest, seed: int) -> TableWork:
        """Refuse: there are no images."""
        raise ProblemError(422, f"{self.name} is a model of a table: send rows to /impute")

    def has_room(self, works: Sequence[TableWork]) -> bool:
        """Return False: requests share nothing."""
        return False

    def advance(self, works: Sequence[TableWork]) -> Sequence[TableWork]:
        """Draw the rows of the first request."""
        works[0].drawn = works[0].draw()
        return works[:1]

    def warm_up(self) -> None:
        """Draw a row."""
        self.model.sample(1, random_state=0)

    def _check(self, format: str, n: int) -> None:
        check_format(self.name, format, self.formats)
        with as_problems():
            check_memory("n", n, 2 * 8 * len(self.model.columns))

    def _value(self, name: str, value: Value) -> Any:
        """Return what is given of a column, as the model takes it."""
        if isinstance(value, Range):
            return self._one(name, value.low), self._one(name, value.high)
        if isinstance(value, AnyOf):
            return [self._one(name, one) for one in value.values]
        return self._one(name, value)

    def _one(self, name: str, value: Scalar) -> Any:
        """Return one value: text as it is in a file of the data."""
        return self.model.read_value(name, value) if isinstance(value, str) else value


def _described(column: Column) -> dict[str, Any]:
    """Describe a column: its name, and the range of its values or its words."""
    if column.dtype == object:
        words = column.values.tolist()
        return {"name": str(column.name), "type": "words", "values": words[:MAX_LISTED]} | (
            {"n_values": len(words)} if len(words) > MAX_LISTED else {}
        )
    low, high = (_plain(value) for value in column.values[[0, -1]].view(column.dtype))
    kind = "times" if column.dtype.kind in "mM" else "numbers"
    return {"name": str(column.name), "type": kind, "min": low, "max": high}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: a gap is None, and times are text."""
    if isinstance(value, np.generic):
        value = str(value) if value.dtype.kind in "mM" else value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if str(value) in ("NaT", "<NA>", "nan") else str(value)


def columns_of(table: Any, columns: Sequence[Column]) -> Mapping[str, list[Any]]:
    """Return the columns of a table of any kind, as JSON has them."""
    if isinstance(table, Table):
        kinds = {column.name: column.dtype.kind for column in columns}
        return {name: _typed(texts, kinds[name]) for name, texts in table.columns.items()}
    if isinstance(table, np.ndarray):
        named = zip((column.name for column in columns), table.T, strict=True)
        return {name: [_plain(value) for value in values.tolist()] for name, values in named}
    frame = nw.from_native(table, eager_only=True)
    return {str(c.name): [_plain(value) for value in c.to_list()] for c in frame.iter_columns()}


def _typed(texts: np.ndarray, kind: str) -> list[Any]:
    """Return the text of a file as numbers, if it is these, and None where it has gaps."""
    words = [None if is_missing(text) else text for text in texts.tolist()]
    if kind not in "if":
        return words
    read = int if kind == "i" else float
    return [None if word is None else read(word.replace(",", ".")) for word in words]
