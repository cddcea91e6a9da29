"""Columns as they come: the values of all rows, and which rows have gaps."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sliceflow.tables._columns import GAP, Column, as_objects

MIN_ID_ROWS = 20
"""With fewer rows, different values in each row do not make a column an id."""

MAX_ID_RANGE = 2
"""Whole numbers, all different, are ids if their range is at most this many times the rows."""

MAX_DISTINCT_WORDS = 0.5
"""Words are names or free text if more than this share of them is distinct."""

MAX_NUMBER = 1e100
"""Maximum absolute value of a number."""

Type = str | Sequence[str]
"""What a user says of a column: "numbers", "words", "id", or its words in order."""


@dataclass(frozen=True, eq=False)
class Raw:
    """A column of n rows as it comes.

    Parameters
    ----------
    name
        The name.
    values
        The values, as float64, int64, datetime64, timedelta64 or objects; anything in gaps, (n,).
    gaps
        The rows without a value, (n,).
    order
        The words in their order, if it has a meaning.
    """

    name: str
    values: np.ndarray
    gaps: np.ndarray
    order: Sequence[Any] | None = None

    @classmethod
    def of(
        cls, name: str, present: np.ndarray, gaps: np.ndarray, order: Sequence[Any] | None = None
    ) -> Self:
        """Return a column of the values that are present, of any dtype. NaN are gaps, too."""
        present = as_objects(present.tolist()) if order is not None else _plain(present)
        if present.dtype == object and not all(isinstance(word, Hashable) for word in present):
            raise ValueError(f"{name} has lists or other objects in its cells: leave it out")
        values = np.zeros(len(gaps), present.dtype)
        values[~gaps] = present
        if values.dtype.kind == "f":
            gaps = gaps | np.isnan(values)
            _check_size(name, values)
        return cls(name, values, gaps, order)

    @property
    def present(self) -> np.ndarray:
        """The values that are not gaps."""
        present: np.ndarray = self.values[~self.gaps]
        return present

    def is_id(self, n_all: int) -> bool:
        """Return whether values only name their row: they are different in each, or nearly.

        The rows may be some of n_all.
        """
        present = self.present
        n, distinct = len(present), len(set(present.tolist()))
        if n < MIN_ID_ROWS or self.order is not None:
            return False
        if present.dtype == object:
            return distinct > MAX_DISTINCT_WORDS * n
        is_whole = present.dtype.kind == "i"
        return is_whole and distinct == n and bool(np.ptp(present) <= MAX_ID_RANGE * n_all)

    def as_type(self, given: Type) -> Self:
        """Return the column as "numbers" or "words", or as words in a given order."""
        if not isinstance(given, str):
            return replace(self, values=as_objects(self.values.tolist()), order=list(given))
        if given == "words":
            return replace(self, values=as_objects(self.values.tolist()))
        if given != "numbers":
            raise ValueError(
                f'{self.name} cannot be of type {given!r}: give "numbers", "words", "id", or a '
                "list of its words in order"
            )
        if self.values.dtype.kind in "if":
            return self
        try:
            numbers = self.present.astype(float)
            is_whole = (np.abs(numbers) < 2**53).all() and (numbers == np.rint(numbers)).all()
            return type(self).of(self.name, numbers.astype(int) if is_whole else numbers, self.gaps)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.name} is not numbers ({error}): leave out its type") from error

    def column(self) -> Column:
        """Return the distinct values."""
        return Column.of(self.name, self.present, self.order)

    def codes(self, column: Column) -> np.ndarray:
        """Return the codes of all rows, (n,)."""
        codes = np.full(len(self.gaps), float(GAP))
        codes[~self.gaps] = column.encode(self.present)
        return codes

    def __getitem__(self, rows: np.ndarray) -> Self:
        return replace(self, values=self.values[rows], gaps=self.gaps[rows])

    def like(self, dtype: np.dtype) -> Self:
        """Return whole numbers if rows before were, also where a gap has made them floats."""
        if dtype.kind != "i" or self.values.dtype.kind != "f":
            return self
        whole = np.where(self.gaps, 0, self.values)
        if (whole != np.rint(whole)).any():
            raise ValueError(
                f"{self.name} has decimals, and was whole numbers in rows before: fit to all rows, "
                "as floats"
            )
        return replace(self, values=whole.astype(np.int64))

    def joined(self, other: Self) -> Self:
        """Return the rows of this column, and below them those of another one."""
        if (self.values.dtype == object) != (other.values.dtype == object):
            raise ValueError(f"{self.name} has words in some rows and numbers in others: fix these")
        values = np.concatenate([self.values, other.values])
        return replace(self, values=values, gaps=np.concatenate([self.gaps, other.gaps]))


def _check_size(name: str, values: np.ndarray) -> None:
    """Refuse numbers whose squares floats cannot hold."""
    if np.isinf(values).any():
        raise ValueError(f"{name} has infinite values: clip them, or leave gaps instead")
    if (np.abs(values) > MAX_NUMBER).any():
        raise ValueError(f"{name} has values beyond {MAX_NUMBER:g}: use another unit")


def _plain(values: np.ndarray) -> np.ndarray:
    """Return values as float64, int64, times or objects, whichever they are."""
    if values.dtype.kind in "Mm":
        return values
    if values.dtype.kind == "u" and values.size and values.max() > np.iinfo(np.int64).max:
        return values.astype(np.float64)
    if values.dtype.kind in "iuf":
        return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    objects = as_objects(values.tolist())
    names = {type(value).__name__ for value in objects}
    if names and names <= {"int", "float", "Decimal"}:
        return objects.astype(np.int64 if names == {"int"} else np.float64)
    if names in ({"date"}, {"datetime"}):
        return objects.astype("datetime64[D]" if names == {"date"} else "datetime64[us]")
    return objects
