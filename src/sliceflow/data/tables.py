"""Tables: CSV files with a line of names, whose columns are numbers or words."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, (n,) each: integers, floats or strings."""

    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> np.ndarray:
        """Return one column."""
        if name not in self.columns:
            known = ", ".join(self.columns)
            raise ValueError(f"the table has no column {name!r}: it has {known}")
        return self.columns[name]

    def numeric(self) -> list[str]:
        """Return the names of columns of numbers."""
        return [name for name, column in self.columns.items() if column.dtype.kind != "U"]

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Return columns of numbers, (n, d)."""
        for name in names:
            if self.column(name).dtype.kind == "U":
                raise ValueError(f"column {name!r} {_complaint(self.columns[name])}")
        return np.stack([self.columns[name].astype(float) for name in names], axis=1)


def _complaint(words: np.ndarray) -> str:
    """Return what is wrong with a column that should be numbers."""
    others = [word for word in words.tolist() if not _is_number(word)]
    if len(others) < len(words) / 2:
        return f"has {others[0]!r} where a number should be: fill it in, or drop that line"
    return "is words, not numbers: leave it out, or condition on it"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def is_csv(path: str | Path) -> bool:
    """Return whether a path is that of a CSV file."""
    return Path(path).suffix.lower() == ".csv"


def load_csv(path: Path) -> Table:
    """Read a CSV file whose first line names its columns."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            names, rows = _rows(path, csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is no CSV file in UTF-8 ({error}): save it as one") from error
    if not rows:
        raise ValueError(f"{path} has no rows: give a line of names, and a line for each row")
    columns = zip(*rows, strict=True)
    return Table({name: _typed(values) for name, values in zip(names, columns, strict=True)})


def _rows(path: Path, lines: Any) -> tuple[list[str], list[list[str]]]:
    """Return the names of columns, and rows that all have a value for each."""
    names = [name.strip() for name in next(lines, [])]
    if len(set(names)) < len(names):
        raise ValueError(f"{path} has two columns of the same name: rename one of {names}")
    rows = []
    for row in lines:
        if row and len(row) != len(names):
            raise ValueError(
                f"line {lines.line_num} of {path} has {len(row)} values and its first line "
                f"{len(names)} names: mend that line"
            )
        if not all(value.strip() for value in row):
            raise ValueError(
                f"line {lines.line_num} of {path} has an empty value: fill it in or drop the line"
            )
        rows += [row] if row else []
    return names, rows


def save_csv(path: Path, names: Sequence[str], columns: Sequence[np.ndarray]) -> None:
    """Write columns, (n,) each, under their names."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))


def _typed(values: Sequence[str]) -> np.ndarray:
    """Return integers if all values are, else floats, else strings."""
    for kind in (int, float):
        try:
            return np.array([kind(value) for value in values])
        except ValueError:
            continue
    return np.array([value.strip() for value in values])
