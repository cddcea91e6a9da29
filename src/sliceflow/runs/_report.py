"""The report of a run: one HTML page, which loads no other file."""

import base64
import io
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from jinja2 import Environment
from markupsafe import Markup
from PIL import Image

from sliceflow.core._atomic import write_text
from sliceflow.metrics import nearest
from sliceflow.model import Model
from sliceflow.runs._run import Run
from sliceflow.viz import draw, neighbours

NEIGHBOURS = 5
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PLOT_WIDTH, PLOT_HEIGHT = 560, 160
"""Size of a plot in pixels."""


def write_report(run: Run, title: str, model: Model, x: np.ndarray, samples: np.ndarray) -> None:
    """Write the page of a finished run, given its data x and samples of its model."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals |= {"picture": picture, "plot": plot}
    template = environment.from_string(files("sliceflow.runs").joinpath("report.html").read_text())
    is_images = len(model.shape) == 3
    unit = 1 if is_images else x.std(axis=0)
    rows = x / unit
    distance, number = nearest(samples / unit, rows, k=NEIGHBOURS)
    among, _ = nearest(rows[: len(samples)], rows, k=2)  # the nearest row is the row itself
    is_equal = samples == x[number[:, 0]]
    page = template.render(
        run=run,
        title=title,
        model=model,
        rows=len(x),
        metrics=run.read_metrics(),
        distance_to_data=float(np.median(distance[:, 0])),
        distance_within_data=float(np.median(among[:, 1])),
        copies=float(is_equal.reshape(len(samples), -1).all(axis=1).mean()),
        neighbours=draw(neighbours(samples[:10], x[number[:10]]), 2) if is_images else None,
        columns=None if is_images else quantiles(model, x, samples),
    )
    write_text(run.report, page)


def quantiles(
    model: Model, x: np.ndarray, samples: np.ndarray
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return for each column its name, its quantiles in the data, and those in samples."""
    both = (np.quantile(rows, QUANTILES, axis=0).T for rows in (x, samples))
    return list(zip(model.codec.columns, *both, strict=False))


def picture(source: Path | Image.Image, about: str) -> Markup:
    """Return a picture as HTML that contains its bytes."""
    if isinstance(source, Path):
        data, kind = source.read_bytes(), source.suffix[1:]
    else:
        file = io.BytesIO()
        source.save(file, "PNG")
        data, kind = file.getvalue(), "png"
    address = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return Markup('<img src="{}" alt="{}" title="{}">').format(address, about, about)


def plot(values: Sequence[float], about: str, floor: float | None = None) -> Markup:
    """Return a line plot of values, from 0 to the largest, with a dashed line at the floor."""
    top = max(*values, floor or 0, 1e-9)
    across = [PLOT_WIDTH * i / max(1, len(values) - 1) for i in range(len(values))]
    heights = [PLOT_HEIGHT * (1 - value / top) for value in values]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))
    dashed = Markup()
    if floor is not None:
        y = PLOT_HEIGHT * (1 - floor / top)
        line = Markup('<line class="floor" x1="0" x2="{}" y1="{}" y2="{}"/>')
        dashed = line.format(PLOT_WIDTH, y, y)
    return Markup(
        '<figure><svg viewBox="-4 -4 {} {}" role="img" aria-label="{}">'
        '<text y="12">{:.3g}</text><polyline points="{}"/>{}</svg>'
        "<figcaption>{}</figcaption></figure>"
    ).format(PLOT_WIDTH + 8, PLOT_HEIGHT + 8, about, top, points, dashed, about)
