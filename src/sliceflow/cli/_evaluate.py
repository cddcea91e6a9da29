"""`sliceflow evaluate`: measure how close samples are to data."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from sliceflow.cli._options import Evaluate, Fit
from sliceflow.cli._samples import load_flow, load_model
from sliceflow.cli._source import Source, fit_options, read, subsample
from sliceflow.cli._tables import evaluate_table
from sliceflow.core._validation import check_integer
from sliceflow.data import data_folder, load
from sliceflow.metrics import likeness, nearest, reference_features, sliced_wasserstein
from sliceflow.metrics._inception import fastest, weights
from sliceflow.model import Model
from sliceflow.runs._run import Run
from sliceflow.runs._samples import as_bytes
from sliceflow.tables._files import is_table, load_table


def run(options: Evaluate) -> None:
    """Measure, and print the results."""
    check_integer("n", options.n, 2)
    figures = of_a_table(options) or of_arrays(options)
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:38} {value:.5g}")


def of_a_table(options: Evaluate) -> dict[str, float]:
    """Return the figures of a table of samples, or of a model of a table; nothing for others."""
    if is_table(options.samples):
        if options.data is None or not is_table(options.data):
            raise ValueError(
                f"{options.samples} is a table: pass the table to compare it with, as --data x.csv"
            )
        return evaluate_table(options, load_table(options.samples), Path(options.data))
    if not is_model(options.samples):
        return {}
    model = load_model(options.samples)
    if isinstance(model, Model):
        return {}
    run = Run(options.samples)
    if options.data is None and not run.config.exists():
        raise ValueError(f"{options.samples} is no run with known data: pass --data x.csv")
    fit = fit_options(run) if run.config.exists() else Fit("")
    data = Path(options.data or fit.data)
    return evaluate_table(options, model.sample(options.n, random_state=1), data, fit.types)


def is_model(path: Path) -> bool:
    """Return whether a path is of a model, and not of samples."""
    return Run(path).config.exists() or (path.is_file() and path.suffix.lower() != ".npz")


def of_arrays(options: Evaluate) -> dict[str, float]:
    """Return the figures of images, or of the samples of a flow."""
    samples, data = arrays(options)
    if samples.shape[1:] != data.shape[1:]:
        raise ValueError(
            f"samples have shape {samples.shape[1:]} and the data {data.shape[1:]}: pass --data "
            "of the same shape"
        )
    samples, data = (  # shuffled: they may be sorted by label
        np.random.default_rng(seed).permutation(rows) for seed, rows in enumerate((samples, data))
    )
    return (of_images if samples.ndim == 4 else of_tables)(samples[: options.n], data, options)


def arrays(options: Evaluate) -> tuple[np.ndarray, np.ndarray]:
    """Return samples, and the data to compare them with."""
    path = options.samples
    if not is_model(path):
        return load(str(path)).pixels, data_of(options, None).x
    model, n = load_flow(path), options.n
    data = data_of(options, model)
    rows = data.y if model.codec.condition.mask is None else data.x
    y = None if rows is None else subsample(rows, n)
    return as_bytes(model.sample(n, y, 1, verbose=True, output="numpy")), data.x


def data_of(options: Evaluate, model: Model | None) -> Source:
    """Return the data to compare samples with: that of their run, or of --data."""
    run = Run(options.samples)
    if not run.config.exists():
        if options.data is None:
            raise ValueError(
                f"{options.samples} is not a run with known data: pass --data, such as --data mnist"
            )
        return read(replace(matching_fit(model, options.data), data_dir=options.data_dir))
    fit = fit_options(run)
    return read(
        replace(fit, data=options.data or fit.data, data_dir=options.data_dir or fit.data_dir)
    )


def matching_fit(model: Model | None, data: str) -> Fit:
    """Return options that read data with the same columns and labels as a model, if given."""
    if model is None:
        return Fit(data)
    if len(model.shape) == 3:
        return Fit(data, y=None if model.codec.classes is None else "label")
    d = math.prod(model.shape)
    columns, y = (",".join(names) for names in (model.codec.names[:d], model.codec.names[d:]))
    return Fit(data, columns=columns or None, y=y or None)


def of_tables(samples: np.ndarray, data: np.ndarray, options: Evaluate) -> dict[str, float]:
    """Return sliced distances, with columns in units of their standard deviation."""
    n = min(len(samples), len(data) // 2, options.n)
    if n < 2 or not data.std(axis=0).all():
        raise ValueError(
            f"{len(samples)} samples and {len(data)} rows of data cannot be compared: pass "
            "at least 2 and 4, and no constant column"
        )
    scaled = [rows / data.std(axis=0) for rows in (samples[:n], data[:n], data[n : 2 * n])]
    return {
        "samples": n,
        "rows of data": n,
        "sliced distance": sliced_wasserstein(scaled[0], scaled[1]),
        "sliced distance of data to other data": sliced_wasserstein(scaled[2], scaled[1]),
    }


def of_images(samples: np.ndarray, data: np.ndarray, options: Evaluate) -> dict[str, float]:
    """Return distances between Inception features, and between pixels."""
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
