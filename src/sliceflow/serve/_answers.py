"""Samples in the formats of answers: JSON, PNG, npz, CSV and Arrow."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import orjson
from PIL import Image

from sliceflow.data._tables import write_csv
from sliceflow.tables._files import write_table

MEDIA_TYPES = {
    "json": "application/json",
    "png": "image/png",
    "npz": "application/octet-stream",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}


class Answer(Protocol):
    """Samples, as they can be written."""

    def as_json(self) -> Mapping[str, Any]:
        """Return the samples as JSON has them, or as arrays of numbers."""

    def write(self, file: io.BytesIO, format: str) -> None:
        """Write the samples in a format other than JSON."""


@dataclass(frozen=True, eq=False)
class ImagesAnswer:
    """Images of bytes.

    Parameters
    ----------
    pixels
        The images, (n, C, h, w) or, of n samples for each image, (images, n, C, h, w).
    arrays
        The arrays of an npz file.
    labels
        The label of each image, if the model has labels.
    picture
        Draws them as one picture.
    """

    pixels: np.ndarray
    arrays: Mapping[str, np.ndarray]
    labels: np.ndarray | None
    picture: Callable[[], Image.Image]

    def as_json(self) -> Mapping[str, Any]:
        """Return the pixels, and the labels if there are any."""
        found: dict[str, Any] = {"shape": self.pixels.shape, "images": self.pixels}
        return found if self.labels is None else found | {"labels": self.labels.tolist()}

    def write(self, file: io.BytesIO, format: str) -> None:
        """Write the images."""
        if format == "png":
            self.picture().save(file, "PNG")
        elif format == "npz":
            np.savez_compressed(file, **self.arrays)  # type: ignore[arg-type]
        else:
            pa = arrow()
            flat = self.pixels.reshape(-1, *self.pixels.shape[-3:])
            columns = {"image": pa.FixedShapeTensorArray.from_numpy_ndarray(flat)}
            if self.labels is not None:
                columns["label"] = pa.array(self.labels.tolist())
            write_arrow(file, pa.table(columns))


@dataclass(frozen=True, eq=False)
class ColumnsAnswer:
    """Rows of a flow.

    Parameters
    ----------
    names
        The names of the columns.
    columns
        The columns, (n,) each.
    arrays
        The arrays of an npz file.
    """

    names: Sequence[str]
    columns: Sequence[np.ndarray]
    arrays: Mapping[str, np.ndarray]

    def as_json(self) -> Mapping[str, Any]:
        """Return the names and the rows."""
        columns = [column.tolist() for column in self.columns]
        return {"columns": list(self.names), "rows": list(zip(*columns, strict=True))}

    def write(self, file: io.BytesIO, format: str) -> None:
        """Write the rows."""
        if format == "npz":
            np.savez_compressed(file, **self.arrays)  # type: ignore[arg-type]
        elif format == "csv":
            write_csv(file, self.names, self.columns)
        else:
            columns = [column.tolist() for column in self.columns]
            write_arrow(file, arrow().table(dict(zip(self.names, columns, strict=True))))


@dataclass(frozen=True, eq=False)
class TableAnswer:
    """Rows of a model of a table.

    Parameters
    ----------
    table
        The rows, as the kind of table that the data was.
    columns
        The columns by name, with None for gaps, and times as text.
    each
        The number of completed rows for each row of a request; None if they are new.
    """

    table: Any
    columns: Mapping[str, list[Any]]
    each: int | None = None

    def as_json(self) -> Mapping[str, Any]:
        """Return the names and the rows; completed rows together."""
        rows = list(zip(*self.columns.values(), strict=True))
        if self.each is not None:
            rows = [rows[i : i + self.each] for i in range(0, len(rows), self.each)]  # type: ignore[misc]
        return {"columns": list(self.columns), "rows": rows}

    def write(self, file: io.BytesIO, format: str) -> None:
        """Write the rows."""
        if format == "csv":
            write_table(file, self.table)
        else:
            write_arrow(file, arrow().table(dict(self.columns)))


@dataclass(frozen=True)
class Told:
    """What an answer says besides the samples."""

    model: str
    seed: int
    n: int
    warnings: list[str] = field(default_factory=list)

    def headers(self) -> dict[str, str]:
        """Return it as headers, which are ASCII."""
        found = {"Sliceflow-Seed": str(self.seed)}
        if self.warnings:
            found["Sliceflow-Warning"] = ascii(" ".join(self.warnings))[1:-1]
        return found

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        found: dict[str, Any] = {"model": self.model, "seed": self.seed, "n": self.n}
        return found | {"warnings": self.warnings} if self.warnings else found


def encode(answer: Answer, told: Told, format: str) -> bytes:
    """Return the body of an answer."""
    if format == "json":
        return as_json(told.as_json() | dict(answer.as_json()))
    file = io.BytesIO()
    answer.write(file, format)
    return file.getvalue()


def as_json(members: Mapping[str, Any]) -> bytes:
    """Return an object as JSON."""
    return orjson.dumps({name: value_as_json(value) for name, value in members.items()})


def value_as_json(value: Any) -> Any:
    """Return a value as orjson is to write it, which is fast for arrays of numbers.

    Others it gets as JSON: it refuses large whole numbers, and turns NaN into null.
    """
    if isinstance(value, np.ndarray):
        return value.tolist()
    return orjson.Fragment(json.dumps(value, allow_nan=False, separators=(",", ":")))


def write_arrow(file: io.BytesIO, table: Any) -> None:
    """Write a table as a stream of Arrow."""
    with arrow().ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


def arrow() -> Any:
    """Return pyarrow, which `check_arrow` has found."""
    import pyarrow

    return pyarrow


def has_arrow() -> bool:
    """Return whether pyarrow is installed."""
    try:
        return arrow() is not None
    except ImportError:
        return False
