"""Columns y of words and numbers together: each word becomes a column of zeros and ones.

(small, 1.5)   becomes   (0, 1, 1.5),   if the words are large and small
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from sliceflow.codec._checks import (
    as_objects,
    check_columns,
    check_given_labels,
    check_labels,
)


@dataclass(frozen=True, eq=False)
class Words:
    """The words of each column of y; None for a column of numbers."""

    columns: tuple[np.ndarray | None, ...]

    @classmethod
    def of(cls, y: Any) -> Self | None:
        """Return the words of several columns of y, of which some are words; else None."""
        rows = as_objects(y)
        if rows.ndim != 2 or rows.shape[1] < 2:
            return None
        if rows.dtype.kind == "U":
            _check_no_numbers(rows)
        columns = tuple(_words(column, number) for number, column in enumerate(rows.T))
        return None if all(words is None for words in columns) else cls(columns)

    @property
    def widths(self) -> list[int]:
        """The number of columns that each column becomes."""
        return [1 if words is None else len(words) for words in self.columns]

    def expand(self, rows: np.ndarray) -> Tensor:
        """Return rows of objects, (n, columns), as numbers, (l, n)."""
        pairs = zip(self.columns, rows.T, strict=True)
        return torch.cat([_expanded(words, column) for words, column in pairs])

    def collapse(self, numbers: Tensor) -> np.ndarray:
        """Return numbers, (l, n), as rows of objects, (n, columns)."""
        rows = np.empty((numbers.shape[1], len(self.columns)), dtype=object)
        parts = torch.split(numbers, self.widths)
        for i, (words, part) in enumerate(zip(self.columns, parts, strict=True)):
            rows[:, i] = part[0].numpy() if words is None else words[part.argmax(dim=0).numpy()]
        return rows

    def repeat(self, names: Sequence[str]) -> list[str]:
        """Return the name of the column that each of the l columns comes from."""
        return np.repeat(names, self.widths).tolist()


def _check_no_numbers(rows: np.ndarray) -> None:
    """Refuse words of which one column is numbers: NumPy turns a list of both into words."""
    are_numbers = [_are_numbers(column) for column in rows.T]
    if any(are_numbers) and not all(are_numbers):
        raise ValueError(
            f"column {are_numbers.index(True)} of y has numbers written as words: pass a data "
            'frame, or a list of rows such as ["Paris", 30]'
        )


def _are_numbers(column: np.ndarray) -> bool:
    try:
        column.astype(float)
    except ValueError:
        return False
    return True


def _words(column: np.ndarray, number: int) -> np.ndarray | None:
    if column.dtype.kind in "iufc" or not any(isinstance(v, str | bool | np.bool_) for v in column):
        return None
    if len(set(map(str, column))) == 1:
        raise ValueError(f"column {number} of y is always {column[0]}: leave it out")
    return check_labels(column, len(column))[0]


def _expanded(words: np.ndarray | None, column: np.ndarray) -> Tensor:
    if words is None:
        return check_columns(column, len(column)).double()
    codes = check_given_labels(column, len(column), words)
    return torch.nn.functional.one_hot(codes, len(words)).T.double()
