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
        columns = tuple(_words(column) for column in rows.T)
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


def _words(column: np.ndarray) -> np.ndarray | None:
    if column.dtype.kind in "iufc" or not any(isinstance(v, str | bool | np.bool_) for v in column):
        return None
    return check_labels(column, len(column))[0]


def _expanded(words: np.ndarray | None, column: np.ndarray) -> Tensor:
    if words is None:
        return check_columns(column, len(column)).double()
    codes = check_given_labels(column, len(column), words)
    return torch.nn.functional.one_hot(codes, len(words)).T.double()
