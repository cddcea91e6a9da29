"""`sliceflow evaluate`: how near samples are to data."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from sliceflow._validation import check_integer
from sliceflow.cli.files import as_arrays, opened
from sliceflow.cli.options import Evaluate, Fit
from sliceflow.cli.source import Source, asked_for, read, some
from sliceflow.conditions import Observed
from sliceflow.data import data_folder, load
from sliceflow.data.tables import is_csv, load_csv
from sliceflow.metrics import likeness, nearest, reference_features, sliced_wasserstein
from sliceflow.metrics.inception import fastest, weights
from sliceflow.model import FlowModel
from sliceflow.runs import Run


def run(options: Evaluate) -> None:
    """Measure, and print."""
    check_integer("n", options.n, 2)
    samples, data = tables(options) if is_csv(options.samples) else arrays(options)
    if samples.shape[1:] != data.shape[1:]:
        raise ValueError(
            f"samples have shape {samples.shape[1:]} and the data {data.shape[1:]}: name the data "
            "that they are to be like"
        )
    samples, data = (  # either may be in the order of its labels
        np.random.default_rng(seed).permutation(rows) for seed, rows in enumerate((samples, data))
    )
    figures = (of_images if samples.ndim == 4 else of_tables)(samples[: options.n], data, options)
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:38} {value:.5g}")


def tables(options: Evaluate) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of numbers that a table of samples and one of data have in common."""
    if options.data is None or not is_csv(options.data):
        raise ValueError(
            f"{options.samples} is a table: name the one it is to be like, --data x.csv"
        )
    samples, data = load_csv(options.samples), load_csv(Path(options.data))
    names = [name for name in samples.numeric() if name in data.numeric()]
    if not names:
        raise ValueError(f"{options.samples} and {options.data} share no column of numbers")
    return samples.numbers(names), data.numbers(names)


def arrays(options: Evaluate) -> tuple[np.ndarray, np.ndarray]:
    """Return samples, and the data that they are compared with."""
    path = options.samples
    is_model = Run(path).config.exists() or (path.is_file() and path.suffix.lower() != ".npz")
    if not is_model:
        return load(str(path)).pixels, data_of(options, None).x
    model, n = opened(path), options.n
    data = data_of(options, model)
    rows = data.x if isinstance(model.condition, Observed) else data.y
    given = None if rows is None else some(rows, n)
    return as_arrays(model.sample(n, given, 1, verbose=True)), data.x


def data_of(options: Evaluate, model: FlowModel | None) -> Source:
    """Return what samples are compared with: the data of their run, or what is named."""
    run = Run(options.samples)
    if not run.config.exists():
        if options.data is None:
            raise ValueError(
                f"{options.samples} is no run, which knows its data: pass --data mnist"
            )
        return read(replace(fitted(model, options.data), data_dir=options.data_dir))
    fit = asked_for(Run(options.samples))
    return read(
        replace(fit, data=options.data or fit.data, data_dir=options.data_dir or fit.data_dir)
    )


def fitted(model: FlowModel | None, data: str) -> Fit:
    """Return the options by which data is read as a model has it, if samples are of one."""
    if model is None:
        return Fit(data)
    if len(model.shape) == 3:
        return Fit(data, y=None if model.classes is None else "label")
    d = math.prod(model.shape)
    columns, y = (",".join(names) for names in (model.names[:d], model.names[d:]))
    return Fit(data, columns=columns or None, y=y or None)


def of_tables(samples: np.ndarray, data: np.ndarray, options: Evaluate) -> dict[str, float]:
    """Return sliced distances, in deviations of the columns."""
    n = min(len(samples), len(data) // 2, options.n)
    if n < 2 or not data.std(axis=0).all():
        raise ValueError(
            f"{len(samples)} samples and {len(data)} rows of data cannot be compared: give at "
            "least 2 and 4, and no constant column"
        )
    scaled = [rows / data.std(axis=0) for rows in (samples[:n], data[:n], data[n : 2 * n])]
    return {
        "samples": n,
        "rows of data": n,
        "sliced distance": sliced_wasserstein(scaled[0], scaled[1]),
        "sliced distance of data to other data": sliced_wasserstein(scaled[2], scaled[1]),
    }


def of_images(samples: np.ndarray, data: np.ndarray, options: Evaluate) -> dict[str, float]:
    """Return distances by Inception's features, and by pixels."""
    shown = sys.stderr.isatty()
    network = fastest(weights(options.data_dir))
    ours = network(samples, progress=shown)
    folder = data_folder(options.data_dir) / "features"
    real = reference_features(data[: options.n], network, folder, progress=shown)
    found = likeness(ours, real)
    distance, _ = nearest(samples[:1000], data)
    return {
        "samples": len(ours),
        "images of data": len(real),
        "FID": found.fid,
        "KID": found.kid,
        "precision": found.precision,
        "recall": found.recall,
        "median distance to the nearest image": float(np.median(distance)),
    }
