"""Questions: which values some columns are given.

`{"age": 30, "city": "Paris"}` gives one value of each. `{"age": (30, 40)}` gives a range, both ends
included, with None for an open end. `{"city": ["Paris", "Rome"]}` gives any of several values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sliceflow.core._warnings import warn_user
from sliceflow.tables._columns import GAP, Column

Given = Mapping[str, Any]
"""What a user gives: values by the names of columns."""


@dataclass(frozen=True, eq=False)
class Question:
    """What columns are given, by their numbers.

    Parameters
    ----------
    exact
        The code of each column that is given one value.
    values
        These values, but for gaps.
    allowed
        For each column that is given several values, a function that says which codes are.
    """

    exact: Mapping[int, float]
    values: Mapping[int, np.ndarray]
    allowed: Mapping[int, Callable[[np.ndarray], np.ndarray]]

    @classmethod
    def of(cls, given: Given, columns: Sequence[Column]) -> Self:
        """Check what is given, and return it as codes."""
        numbers = {column.name: number for number, column in enumerate(columns)}
        exact, values, allowed = {}, {}, {}
        for name, value in given.items():
            if name not in numbers:
                raise ValueError(f"there is no column {name!r}: choose from {list(numbers)}")
            column = columns[numbers[name]]
            if isinstance(value, tuple):
                allowed[numbers[name]] = _range(column, *_ends(name, value))
            elif isinstance(value, list | set | frozenset):
                allowed[numbers[name]] = _any_of(column, list(value))
            else:
                exact[numbers[name]] = _code(column, value)
                if value is not None:
                    values[numbers[name]] = column.as_values([value])
        return cls(exact, values, allowed)

    def holds(self, codes: np.ndarray) -> np.ndarray:
        """Return which rows of codes, (n, d), have allowed values."""
        fits = np.ones(len(codes), bool)
        for column, is_allowed in self.allowed.items():
            fits &= is_allowed(codes[:, column])
        return fits


def _ends(name: str, value: tuple[Any, ...]) -> tuple[Any, Any]:
    if len(value) != 2:
        raise ValueError(f"{name}={value}: give a range as (lowest, highest), or a list of values")
    low, high = value
    return low, high


def _code(column: Column, value: Any) -> float:
    """Return the code of a value; that of the nearest end, with a warning, if it is beyond."""
    if value is None:
        return GAP
    array = column.as_values([value])
    if column.dtype != object:
        low, high = column.values[[0, -1]].view(column.dtype)
        if not low <= array[0] <= high:
            warn_user(
                f"{column.name} is given beyond the data, which ranges from {low} to {high}: "
                "samples are those of the nearest value in the data"
            )
    return float(column.encode(array)[0])


def _range(column: Column, low: Any, high: Any) -> Callable[[np.ndarray], np.ndarray]:
    if not column.is_ordered:
        raise ValueError(f"{column.name} is words without an order: give a list of them, no range")
    codes = np.arange(len(column.values))
    first, last = 0.0, float(len(codes) - 1)
    if low is not None:
        first = _edge(column, low, "left")
    if high is not None:
        last = _edge(column, high, "right") - 1
    if first > last:
        raise ValueError(f"{column.name} has no value between {low} and {high} in the data")
    return lambda codes: (codes >= first) & (codes <= last)


def _edge(column: Column, value: Any, side: str) -> float:
    """Return how many values of a column are below a value, or at most it."""
    array = column.as_values([value])
    if column.dtype == object:
        return float(column.encode(array)[0]) + (side == "right")
    return float(np.searchsorted(column.values.view(column.dtype), array, side)[0])  # type: ignore[call-overload]


def _any_of(column: Column, values: list[Any]) -> Callable[[np.ndarray], np.ndarray]:
    codes = [_code(column, value) for value in values]
    return lambda rows: np.isin(rows, codes)
