"""Text in, and the same kind of text out: numbers, dates and words as a file has them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import numpy as np

from sliceflow.core._warnings import warn_user
from sliceflow.data._tables import Table, is_missing
from sliceflow.tables._columns import as_objects
from sliceflow.tables._frames import Values
from sliceflow.tables._raw import Raw

DATES = (
    *("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d"),
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y"),
)
"""Formats of dates and times that are noticed; the first one that fits all values is taken."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(?i:inf(inity)?)")
DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?")
CODE = re.compile(r"0\d+")  # such as the code 00501, which is no number

MAX_OTHERS = 0.1
"""If at most this share of a column's values are no numbers, a warning says so."""

MAX_DIGITS = 18
"""Whole numbers with more digits than this do not fit into 64 bits."""

Format = list[Any]
"""How values are written: ["number", decimals, comma], ["date", format] or ["word"]."""


@dataclass(frozen=True)
class TextLayout:
    """How the columns of a file are written, by name and in order, and what separates them."""

    formats: Mapping[str, Format]
    separator: str = ","

    @classmethod
    def read(cls, table: Table) -> tuple[Self, list[Raw]]:
        """Return the layout and the columns of a file's table."""
        formats, raws = {}, []
        for name, texts in table.columns.items():
            words = [word.strip() for word in texts.tolist()]
            gaps = np.array([is_missing(word) for word in words], bool)
            present = [word for word, is_gap in zip(words, gaps, strict=True) if not is_gap]
            formats[name], values = _parsed(present)
            if formats[name] == ["word"]:
                _warn_of_words(name, present)
            raws.append(Raw.of(name, values, gaps))
        return cls(formats, table.separator), raws

    def restore(self, columns: Mapping[str, Values]) -> Table:
        """Return columns as the table of a file; gaps are empty."""
        texts = {
            name: np.array(_texts(*columns[name], how), np.dtypes.StringDType())
            for name, how in self.formats.items()
            if name in columns
        }
        lines = np.arange(len(next(iter(texts.values()))))
        return Table(Path("samples"), texts, lines, self.separator)

    def read_value(self, name: str, text: str) -> Any:
        """Return a value of a column, written as in the file."""
        kind, *how = self.formats.get(name, ["word"])
        if kind == "date":
            return np.datetime64(datetime.strptime(text, how[0]))
        return text.replace(",", ".") if kind == "number" and how[1] else text


def _warn_of_words(name: str, words: list[str]) -> None:
    """Warn if a column would be numbers but for a few words."""
    others = [
        word for word in words if not (NUMBER.fullmatch(word) or DECIMAL_COMMA.fullmatch(word))
    ]
    if others and len(others) <= MAX_OTHERS * len(words):
        warn_user(
            f"{name} is taken as words: {len(others):,} of its {len(words):,} values are no "
            f"numbers, such as {others[0]!r}. Leave these empty if it is numbers"
        )


def _parsed(words: list[str]) -> tuple[Format, np.ndarray]:
    """Return how words are written, and their values."""
    if any(CODE.fullmatch(word) for word in words) or not words:
        return ["word"], as_objects(words)
    if all(NUMBER.fullmatch(word) for word in words):
        return _numbers(words, comma=False)
    if all(DECIMAL_COMMA.fullmatch(word) for word in words):
        return _numbers([word.replace(",", ".") for word in words], comma=True)
    for format in DATES:
        if (values := _dates(words, format)) is not None:
            return ["date", format], values
    return ["word"], as_objects(words)


def _numbers(words: list[str], comma: bool) -> tuple[Format, np.ndarray]:
    """Return numbers, and how many decimals they have; None if they are written otherwise."""
    if all(re.fullmatch(r"[+-]?\d+", word) for word in words):
        if max(map(len, words)) > MAX_DIGITS:
            return ["word"], as_objects(words)
        return ["number", 0, comma], np.array(list(map(int, words)), np.int64)
    is_plain = not any("e" in word.lower() for word in words)
    decimals = max(len(word.partition(".")[2]) for word in words) if is_plain else None
    return ["number", decimals, comma], np.array(list(map(float, words)))


def _dates(words: list[str], format: str) -> np.ndarray | None:
    try:
        times = [datetime.strptime(word, format) for word in words]
    except ValueError:
        return None
    return np.array(times, "datetime64[s]" if "%H" in format else "datetime64[D]")


def _texts(values: np.ndarray, gaps: np.ndarray, how: Format) -> list[str]:
    pairs = zip(values, gaps, strict=True)
    return ["" if is_gap else _written(value, *how) for value, is_gap in pairs]


def _written(value: Any, kind: str, *how: Any) -> str:
    """Return a value as text."""
    if kind == "date":
        return str(value.astype("datetime64[s]").astype(datetime).strftime(how[0]))
    if kind == "word":
        return str(value)
    decimals, comma = how
    text = repr(float(value)) if decimals is None else f"{value:.{decimals}f}"
    return text.replace(".", ",") if comma else text
