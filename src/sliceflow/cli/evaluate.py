"""`sliceflow evaluate`: how near samples are to data."""

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from sliceflow.cli.files import conditions, opened
from sliceflow.cli.options import Evaluate, Fit
from sliceflow.cli.source import Source, read
from sliceflow.data import data_folder
from sliceflow.data.tables import load_csv
from sliceflow.metrics import (
    Inception,
    Statistics,
    frechet_distance,
    kernel_distance,
    nearest,
    precision_and_recall,
    reference_features,
    sliced_wasserstein,
)
from sliceflow.runs import Run

FILES = (".csv", ".npz")


def run(options: Evaluate) -> None:
    """Measure, and print."""
    data = data_of(options)
    order = np.random.default_rng(0).permutation(len(data.x))
    y = None if data.y is None else data.y[np.resize(order, options.n)]
    samples, rows = drawn(options, y), data.x[order[: options.n]]
    if samples.shape[1:] != rows.shape[1:]:
        raise ValueError(
            f"samples have shape {samples.shape[1:]} and the data {rows.shape[1:]}: name the data "
            "that they are to be like"
        )
    measure = of_images if samples.ndim == 4 else of_tables
    figures = {"samples": float(len(samples)), "rows of data": float(len(rows))}
    figures |= measure(samples, rows, options)
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:38} {value:.5g}")


def data_of(options: Evaluate) -> Source:
    """Return what samples are compared with: the data of their run, or what is named."""
    kept = Run(options.samples).config
    if options.data is not None:
        return read(Fit(options.data, columns=numeric(options.data), data_dir=options.data_dir))
    if not kept.exists():
        raise ValueError(f"{options.samples} is no run, which knows its data: pass --data mnist")
    return read(replace(Fit(**yaml.safe_load(kept.read_text())), data_dir=options.data_dir))


def drawn(options: Evaluate, y: np.ndarray | None) -> np.ndarray:
    """Return samples: from a model, given y, or from a file or a folder of them."""
    path = options.samples
    if path.suffix in FILES or (path.is_dir() and not Run(path).config.exists()):
        return read(Fit(str(path), columns=numeric(path))).x[: options.n]
    model, n = opened(path), options.n
    given = conditions(model, None, n) if y is None else y
    samples: np.ndarray = model.sample(n, given, 1, verbose=sys.stderr.isatty())
    return samples[np.random.default_rng(0).permutation(n)]


def numeric(path: str | Path) -> str | None:
    """Return the columns of a table that are numbers."""
    if Path(path).suffix != ".csv":
        return None
    columns = load_csv(Path(path)).columns
    return ",".join(name for name, column in columns.items() if column.dtype.kind != "U")


def of_tables(samples: np.ndarray, data: np.ndarray, options: Evaluate) -> dict[str, float]:
    """Return sliced distances, in deviations of the columns."""
    n = min(len(samples), len(data) // 2)
    scaled = [rows / data.std(axis=0) for rows in (samples[:n], data[:n], data[n : 2 * n])]
    return {
        "sliced distance": sliced_wasserstein(scaled[0], scaled[1]),
        "sliced distance of data to other data": sliced_wasserstein(scaled[2], scaled[1]),
    }


def of_images(samples: np.ndarray, data: np.ndarray, options: Evaluate) -> dict[str, float]:
    """Return distances by Inception's features, and by pixels."""
    shown = sys.stderr.isatty()
    network = Inception(fast=importlib.util.find_spec("openvino") is not None)
    ours = network(samples, progress=shown)
    folder = data_folder(options.data_dir) / "features"
    real = reference_features(data, network, folder, progress=shown)
    found = precision_and_recall(ours, real)
    distance, _ = nearest(samples[:1000], data)
    return {
        "FID": frechet_distance(Statistics.of(ours), Statistics.of(real)),
        "KID": kernel_distance(ours, real),
        "precision": found.precision,
        "recall": found.recall,
        "median distance to the nearest image": float(np.median(distance)),
    }
