"""The data of a fit: rows and conditions, read as the options say."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sliceflow.cli._options import Fit
from sliceflow.cli._parser import options_of
from sliceflow.codec._checks import HALVES
from sliceflow.core._random import Draw, Random
from sliceflow.core._validation import check_seed
from sliceflow.data import Images, Stream, load, stream
from sliceflow.data._folders import read_image
from sliceflow.data._tables import Table, is_csv, load_csv
from sliceflow.runs._run import Run

N_PREVIEW = 5000
"""Number of rows of a stream that a report compares samples with."""

ONLY_STREAMED = {".parquet", ".tar", ".npy"}
"""Suffixes of files that can only be streamed."""


@dataclass(frozen=True, eq=False)
class Source:
    """Rows x and their conditions y, if any; the observed part of x; the names of columns.

    For a stream, x and y are only some rows, for the report.
    """

    x: np.ndarray
    y: np.ndarray | None = None
    observed: Any = None
    names: tuple[str, ...] = ()
    stream: Stream | None = None


def read(fit: Fit) -> Source:
    """Read the data of a fit."""
    _check(fit)
    if fit.stream:
        return _streamed(fit)
    if is_csv(fit.data):
        return _table(load_csv(Path(fit.data)), fit)
    images = load(fit.data, folder=fit.data_dir, size=fit.size)
    return _images(images.with_flips() if fit.flips else images, fit)


def fit_options(run: Run) -> Fit:
    """Return the saved options of a run."""
    settings = run.settings()
    try:
        options: Fit = options_of(Fit, settings)
    except ValueError as error:
        raise run.damaged(error) from error
    return options


def _check(fit: Fit) -> None:
    """Refuse options that are for another kind of data."""
    is_table = is_csv(fit.data)
    if is_table and (fit.size or fit.flips):
        raise ValueError("--size and --flips are for images: leave them out for a table")
    if fit.types or fit.update:
        raise ValueError("--types and --update are for tables fitted without --y: leave them out")
    if fit.columns and not is_table and not fit.stream:
        raise ValueError("--columns is for tables: leave it out for images")
    if fit.stream and (is_table or fit.flips):
        raise ValueError("--stream is not for CSV files or --flips: leave one of them out")
    if not fit.stream and Path(fit.data).suffix.lower() in ONLY_STREAMED:
        raise ValueError(f"{fit.data} can only be streamed: pass --stream")


def _streamed(fit: Fit) -> Source:
    """Return a stream, and some of its rows for the report."""
    given, columns = _columns(fit)
    found = replace(stream(fit.data, given, columns, fit.size), conditional=bool(given))
    x, y = found.draw(Random(check_seed(fit.random_state), Draw.PROBE), N_PREVIEW)
    if given and y is None:
        raise ValueError(f"{fit.data} has no labels: leave out --y {fit.y}")
    return Source(x, y, _observed(fit.observed, x.shape[1:]), stream=found)


def _columns(fit: Fit) -> tuple[list[str], list[str]]:
    """Return the names of the columns of y, and those of x if --columns has them."""
    given, columns = names_of("--y", fit.y), names_of("--columns", fit.columns)
    if both := [name for name in columns if name in given]:
        raise ValueError(f"{', '.join(both)} is in both --y and --columns: leave it out of one")
    return given, columns


def names_of(flag: str, text: str | None) -> list[str]:
    """Return names separated by commas."""
    names = [] if text is None else [name.strip() for name in text.split(",")]
    if "" in names:
        raise ValueError(f"{flag} {text!r} has an empty name: separate names by single commas")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{flag} has {twice[0]} more than once: write it once")
    return names


def _table(table: Table, fit: Fit) -> Source:
    given, columns = _columns(fit)
    y = _given(table, given)
    names = columns or [name for name in table.columns if name not in given]
    if not names:
        raise ValueError("--y has all columns: leave out at least one, to be modelled")
    observed, x = _observed(fit.observed, (len(names),)), table.numbers(names)
    return Source(x, y, observed, (*names, *given))


def _given(table: Table, names: list[str]) -> np.ndarray | None:
    """Return columns y: numbers, or words and numbers as objects; one column by itself."""
    if len(names) < 2:
        return table.column(names[0]) if names else None
    columns = [table.column(name) for name in names]
    if all(column.dtype.kind != "U" for column in columns):
        return table.numbers(names)
    return np.stack([column.astype(object) for column in columns], axis=1)


def _images(images: Images, fit: Fit) -> Source:
    if images.shape[0] not in (1, 3):
        raise ValueError(
            f"the images have {images.shape[0]} channels: pass 1 (grey) or 3 (RGB), or use Python"
        )
    y = None if fit.y is None else _labels(images, fit.y)
    return Source(images.pixels, y, _observed(fit.observed, images.shape))


def _labels(images: Images, y: str) -> np.ndarray:
    """Return the label of each image."""
    if y != "label":
        raise ValueError(f"--y {y}: images can only be conditioned on labels: pass --y label")
    if images.labels is None:
        raise ValueError(
            "the images have no labels: put the images of each class into a subfolder, or leave "
            "out --y label"
        )
    names = np.array(images.classes)
    return names[images.labels] if len(names) else images.labels


def _observed(name: str | None, shape: tuple[int, ...]) -> str | np.ndarray | None:
    """Return the part of x that is given: the name of a half, or a mask."""
    if name is None:
        return None
    if len(shape) != 3:
        raise ValueError("--observed is for images: for a table, name the given columns as --y")
    return name if name in HALVES else _mask(Path(name), shape)


def _mask(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Return a mask that is true where an image is white."""
    if not path.exists():
        raise ValueError(
            f"--observed {path}: pass {', '.join(HALVES)}, or the path of an image that is white "
            "where pixels are given"
        )
    white = np.asarray(read_image(path).convert("L")) > 127
    if white.shape != shape[1:]:
        raise ValueError(f"{path} has {white.shape} pixels, the images have {shape[1:]}: resize it")
    return np.broadcast_to(white, shape)


def subsample(rows: np.ndarray, n: int) -> np.ndarray:
    """Return n random rows, the same ones in each call; if there are fewer, rows repeat."""
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[np.resize(order, n)]
