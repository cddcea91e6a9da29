"""Pages: HTML that loads no other file."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader

from sliceflow.core._atomic import write_text
from sliceflow.runs._plots import bars, heatmap, paired_bars, picture, plot, scatter

PLOTS = (bars, heatmap, paired_bars, picture, plot, scatter)


def write_page(path: Path, template: str, **values: Any) -> None:
    """Write a page of values by its template in this folder."""
    loader = PackageLoader("sliceflow.runs", ".")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals |= {plot.__name__: plot for plot in PLOTS}
    environment.filters["zip"] = zip
    write_text(path, environment.get_template(template).render(values))
