"""A panel: a title, facts, and a picture or rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from sliceflow.notebook._rows import MAX_COLUMNS, Rows
from sliceflow.notebook._template import rendered


@dataclass(frozen=True)
class Panel:
    """What a notebook shows of a model, a run or an estimator.

    Parameters
    ----------
    title
        What it is.
    facts
        What is known about it, by name.
    picture
        A picture of samples.
    rows
        Sampled rows, or columns without any.
    note
        A sentence below all else.
    """

    title: str
    facts: Mapping[str, object]
    picture: Markup | None = None
    rows: Rows | None = None
    note: str = ""

    def html(self) -> str:
        """Return the panel as HTML, which loads no other file."""
        return rendered("panel.html", panel=self, rows=self.rows, shown=slice(MAX_COLUMNS))
