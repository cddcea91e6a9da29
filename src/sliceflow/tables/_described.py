"""What a notebook shows of columns, above rows of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from sliceflow.notebook._rows import MAX_BARS, plot, plot_values
from sliceflow.tables._columns import Column


def described(columns: Sequence[Column]) -> dict[str, Any]:
    """Return what the values of each column are and how many, and how they are spread."""
    return {
        "kinds": [f"{column.kind}, {len(column.values):,}" for column in columns],
        "plots": [_plot(column) for column in columns],
    }


def _plot(column: Column) -> Markup:
    """Return a small plot: of numbers by value, of words by how often they occur."""
    if column.dtype == object:
        counts = column.counts if column.is_ordered else np.sort(column.counts)[::-1]
        return plot(counts[:MAX_BARS])
    return plot_values(column.values, column.counts)
