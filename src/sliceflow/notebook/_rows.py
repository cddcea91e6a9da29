"""Rows of a table, to look at: as HTML in a notebook, as text elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from markupsafe import Markup

from sliceflow.notebook._template import rendered

MAX_COLUMNS, MAX_CHARACTERS = 20, 40
"""Maximum number of columns shown, and of characters of a value."""

N_ROWS = 5
"""Default number of rows to look at."""

MAX_BARS = 16
"""Maximum number of bars of a small plot."""


SHOWN = (0.01, 0.99)
"""The quantiles between which a small histogram has its bars."""


@dataclass(frozen=True)
class Rows:
    """Some rows of a table.

    Parameters
    ----------
    names
        The names of the columns.
    cells
        The values of each row, as text.
    kinds
        What the values of each column are, if known.
    plots
        A small plot of the values of each column, if there are any.
    """

    names: Sequence[str]
    cells: Sequence[Sequence[str]]
    kinds: Sequence[str] = ()
    plots: Sequence[Markup] = ()

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[Any]], **described: Sequence[Any]) -> Self:
        """Return the rows of columns by name; what describes columns is in the same order."""
        texts = [[as_text(value) for value in values] for values in columns.values()]
        return cls(list(columns), list(zip(*texts, strict=True)), **described)

    @property
    def n_hidden(self) -> int:
        """The number of columns that HTML does not show."""
        return max(0, len(self.names) - MAX_COLUMNS)

    def _repr_html_(self) -> str:
        return rendered("rows.html", rows=self, shown=slice(MAX_COLUMNS))

    def __repr__(self) -> str:
        lines = [self.names, *self.cells]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = (map(str.rjust, line, widths) for line in lines)
        return "\n".join("  ".join(line) for line in padded)


def as_text(value: Any) -> str:
    """Return a value as short text; a missing one is empty."""
    if value is None or value != value:
        return ""
    if isinstance(value, np.datetime64):
        value = str(value.astype("M8[s]")).replace("T", " ").removesuffix(" 00:00:00")
    elif isinstance(value, np.timedelta64):
        value = value.astype("m8[us]").item()
    text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


def plot_values(values: np.ndarray, counts: np.ndarray | None = None) -> Markup:
    """Return a small histogram of numbers, each of which may occur several times.

    Outliers are part of the first and of the last bar.
    """
    numbers = (values - values.min()).astype(float)  # large whole numbers may differ by little
    bars, _ = np.histogram(numbers.clip(*np.quantile(numbers, SHOWN)), MAX_BARS, weights=counts)
    return plot(bars)


def plot(heights: Sequence[float] | np.ndarray) -> Markup:
    """Return a small plot of bars, of which the highest are as high as the plot."""
    top = max(*heights, 1e-9)
    bar = Markup('<rect x="{}" y="{:.1f}" width="5" height="{:.1f}"/>')
    shares = [20 * float(height) / top for height in heights]
    drawn = [bar.format(6 * i, 20 - share, share) for i, share in enumerate(shares)]
    return Markup('<svg viewBox="0 0 {} 20" width="{}" height="20">{}</svg>').format(
        *(6 * len(drawn), 6 * len(drawn), Markup().join(drawn))
    )
