"""Tables: CSV files with a header line. Columns are numbers or words."""

import codecs
import csv
import io
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Self, TextIO

import numpy as np

from sliceflow.codec._kinds import MAX_EXACT
from sliceflow.core._atomic import replacing
from sliceflow.core._reading import FileError, check_file

SEPARATORS = ",;\t|"

MISSING = {"", "na", "n/a", "#n/a", "nan", "null"}
"""Words for a missing value, in lower or upper case."""

HEAD = 2**16
"""Number of characters used to find the separator."""

CHUNK = 2**14
"""Number of rows that are converted to columns at a time, to save memory."""


class StoredTable(ABC):
    """A table in a file."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the columns."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def select(self, names: Sequence[str]) -> Self:
        """Return some of the columns."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> Any:
        """Return the rows of these numbers, which ascend."""


@dataclass(frozen=True, eq=False)
class Table(StoredTable):
    """Columns by name, (n,) each, as the text of a file, and the line number of each row.

    Values in a line of the file are separated by the separator.

    A column is parsed when it is used: unused columns may hold anything.
    """

    path: Path
    columns: dict[str, np.ndarray]
    lines: np.ndarray
    separator: str = ","

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    def select(self, names: Sequence[str]) -> Self:
        """Return some of the columns."""
        return replace(self, columns={name: self.columns[name] for name in names})

    def take(self, rows: np.ndarray) -> Self:
        """Return the rows of these numbers."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, columns=columns, lines=self.lines[rows])

    def column(self, name: str) -> np.ndarray:
        """Return one column, as integers, floats or strings."""
        words = self._present(name)
        is_code = any(re.fullmatch(r"0\d+", word) for word in words)  # such as the code 00501
        return np.array(words) if is_code else _typed(words)

    def numeric(self) -> list[str]:
        """Return the names of numeric columns, which may have missing values."""
        return [name for name in self.columns if self._is_numeric(name)]

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Return numeric columns, (n, d): integers if all values are integers, else floats."""
        return np.stack([self._numbers(name) for name in names], axis=1)

    def _words(self, name: str) -> list[str]:
        if not name:
            raise ValueError(
                f"{self.path} has a column without a name: add one, or choose other columns"
            )
        if name not in self.columns:
            known = ", ".join(self.columns)
            raise ValueError(f"{self.path} has no column {name!r}: it has {known}")
        words: list[str] = self.columns[name].tolist()
        return [word.strip() for word in words]

    def _present(self, name: str) -> list[str]:
        """Return the words of a column, which may have no missing values."""
        words = self._words(name)
        for row, word in enumerate(words):
            if is_missing(word):
                self._refuse(name, row, "no value", "fill it in")
        return words

    def _is_numeric(self, name: str) -> bool:
        words = [word for word in self._words(name) if not is_missing(word)]
        return len(words) > 0 and _typed(words).dtype.kind != "U"

    def _numbers(self, name: str) -> np.ndarray:
        """Return a column of numbers that floats can represent exactly."""
        column = _typed(self._present(name))
        if column.dtype.kind == "U" or not (np.abs(column.astype(float)) < MAX_EXACT).all():
            self._check_numbers(name)
        return column

    def _check_numbers(self, name: str) -> None:
        """Raise an error if a column does not hold such numbers."""
        words = self._words(name)
        faults = {row: fault for row, word in enumerate(words) if (fault := _fault(word))}
        for row, fault in faults.items():
            if fault != WORD or len(faults) < len(words) / 2:
                self._refuse(name, row, f"{_short(words[row])!r}", fault)
        if faults:
            raise ValueError(
                f"{self.path}: column {name!r} is words, not numbers: leave it out, or use it as y"
            )

    def _refuse(self, name: str, row: int, what: str, fix: str) -> None:
        raise ValueError(
            f"{self.path}: column {name!r} has {what} in line {self.lines[row]}: {fix}, drop the "
            "line, or leave the column out"
        )


WORD = "write a number"


def _fault(word: str) -> str | None:
    """Return how to fix a word that is not a number, or not one that floats can represent."""
    if re.fullmatch(r"[+-]?\d+", word):
        is_exact = len(word) < 20 and abs(int(word)) <= MAX_EXACT
        return None if is_exact else "use integers up to 2**53, or write it as 1e20"
    if re.fullmatch(r"[+-]?\d+,\d+", word):
        return "write it without a comma"
    try:
        return None if math.isfinite(float(word)) else "write a finite number"
    except ValueError:
        return WORD


def _short(word: str) -> str:
    return word if len(word) <= 20 else f"{word[:20]}…"


def is_missing(word: str) -> bool:
    """Return whether a word stands for a missing value."""
    return len(word) < 5 and word.lower() in MISSING


def _typed(words: list[str]) -> np.ndarray:
    """Return integers if all words are, else floats if all are numbers, else strings."""
    if any("_" in word for word in words):  # Python would ignore underscores in numbers
        return np.array(words)
    try:
        return np.array([int(word) for word in words], np.int64)
    except OverflowError:
        return np.array(words)
    except ValueError:
        pass
    try:
        return np.array([float(word) for word in words])
    except ValueError:
        return np.array(words)


def is_csv(path: str | Path) -> bool:
    """Return whether a path is of a CSV file."""
    return Path(path).suffix.lower() == ".csv"


def load_csv(path: Path) -> Table:
    """Read a CSV file with a header line, in UTF-8, UTF-16 or the encoding of Windows."""
    try:
        with path.open(newline="", encoding=_encoding(check_file(path))) as file:
            separator = _separator(path, file)
            lines = csv.reader(file, delimiter=separator, strict=True)
            names = _names(path, lines)
            columns, numbers = _packed(_rows(path, lines, len(names)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path} is not a CSV file ({error}): save it as one") from error
    if not columns:
        raise ValueError(f"{path} has no rows: write a header line, and a line for each row")
    return Table(path, dict(zip(names, columns, strict=True)), numbers, separator)


def _encoding(path: Path) -> str:
    """Return the encoding of a text file: UTF-16 if it begins so, UTF-8 if all of it is that."""
    with path.open("rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
    try:
        with path.open(encoding="utf-8-sig") as file:
            while file.read(HEAD):
                pass
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _separator(path: Path, file: TextIO) -> str:
    """Return the separator that splits the first lines most consistently, and into most values."""
    head = file.read(HEAD)
    file.seek(0)
    if "\0" in head:
        raise FileError(f"{path} is not text: save it as a CSV file in UTF-8")
    found = {mark: _consistency(head, mark) for mark in SEPARATORS}
    return max(SEPARATORS, key=lambda mark: found[mark])


def _consistency(head: str, separator: str) -> tuple[int, int]:
    """Return the number of lines with as many values as the first line, and of its values."""
    rows = list(csv.reader(head.splitlines()[:20], delimiter=separator))
    n = len(rows[0]) if rows else 0
    return (sum(len(row) == n for row in rows), n) if n > 1 else (0, 0)


def _names(path: Path, lines: Iterator[list[str]]) -> list[str]:
    names = [name.strip() for name in next(lines, [])]
    if names and not any(_fault(name) for name in names):
        raise ValueError(
            f"{path} has only numbers in its first line: add a header line with the names of "
            "columns, or begin each name with a letter"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"{path} has two columns of the same name: rename one of {names}")
    return names


def _rows(path: Path, lines: Any, n: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line, and its n values."""
    for row in lines:
        if row and len(row) != n:
            raise ValueError(
                f"line {lines.line_num} of {path} has {len(row)} values, and the header has {n} "
                "names: fix that line"
            )
        if row:
            yield lines.line_num, row


def _packed(rows: Iterator[tuple[int, list[str]]]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the columns of rows, which take less memory than rows, and the line numbers."""
    parts, lines, text = [], [np.zeros(0, int)], np.dtypes.StringDType()
    while chunk := list(islice(rows, CHUNK)):
        lines.append(np.array([line for line, _ in chunk]))
        values = zip(*(row for _, row in chunk), strict=True)
        parts.append([np.array(column, text) for column in values])
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return columns, np.concatenate(lines)


def save_csv(
    path: Path, names: Sequence[str], columns: Sequence[np.ndarray], separator: str = ","
) -> None:
    """Save columns, (n,) each, with a header line."""
    with replacing(path) as file:
        write_csv(file, names, columns, separator)


def write_csv(
    file: BinaryIO, names: Sequence[str], columns: Sequence[np.ndarray], separator: str = ","
) -> None:
    """Write columns, (n,) each, with a header line."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    text.detach()  # flushes, and leaves the file open
