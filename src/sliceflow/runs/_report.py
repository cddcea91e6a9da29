"""The report of a run: one HTML page, which loads no other file."""

import numpy as np

from sliceflow.metrics import nearest
from sliceflow.model import Model
from sliceflow.runs._calibration import LEVELS, Calibration
from sliceflow.runs._page import write_page
from sliceflow.runs._run import Run
from sliceflow.viz import draw, neighbours

NEIGHBOURS = 5
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def write_report(
    run: Run,
    title: str,
    model: Model,
    x: np.ndarray,
    samples: np.ndarray,
    y: np.ndarray | None = None,
) -> None:
    """Write the page of a finished run, given its data and samples of its model."""
    is_images = len(model.shape) == 3
    unit = 1 if is_images else x.std(axis=0)
    rows = x / unit
    distance, number = nearest(samples / unit, rows, k=NEIGHBOURS)
    among, _ = nearest(rows[: len(samples)], rows, k=2)  # the nearest row is the row itself
    is_equal = samples == x[number[:, 0]]
    write_page(
        run.report,
        "report.html",
        levels=LEVELS,
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
        calibration=None if y is None else Calibration.of(model, x, y),
    )


def quantiles(
    model: Model, x: np.ndarray, samples: np.ndarray
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return for each column its name, its quantiles in the data, and those in samples."""
    both = (np.quantile(rows, QUANTILES, axis=0).T for rows in (x, samples))
    return list(zip(model.codec.columns, *both, strict=False))
