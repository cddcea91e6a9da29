"""Data frames and arrays in, and the same kind out, with the same columns, order and dtypes.

narwhals treats pandas, polars and pyarrow alike, and imports none of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from sliceflow.tables._columns import as_objects
from sliceflow.tables._raw import Raw

Values = tuple[np.ndarray, np.ndarray]
"""The values of a column, (n,), and which rows are gaps."""

Dtype = list[Any]
"""A dtype as its name and arguments, such as ["Datetime", "us", "UTC"]."""

WORDS = ("Enum", "Categorical")
"""Dtypes whose arguments are words."""


@dataclass(frozen=True)
class FrameLayout:
    """The kind of data frame that rows came in.

    Parameters
    ----------
    library
        Its library.
    dtypes
        The dtype of each column, in order.
    """

    library: str
    dtypes: Mapping[str, Dtype]

    @classmethod
    def read(cls, frame: Any) -> tuple[Self, list[Raw]]:
        """Return the layout and the columns of a data frame."""
        try:
            frame = nw.from_native(frame, eager_only=True)
        except DuplicateError as error:
            raise ValueError("two columns have the same name: rename one of them") from error
        columns, library = list(frame.iter_columns()), str(frame.implementation)
        dtypes = {column.name: _dtype(column, library) for column in columns}
        return cls(library, dtypes), [_raw(column, dtypes[column.name]) for column in columns]

    def read_value(self, name: str, text: str) -> str:
        """Return a value of a column, as text."""
        return text

    def restore(self, columns: Mapping[str, Values]) -> Any:
        """Return columns as such a data frame, in the order of the data."""
        frames = [
            _series(name, *columns[name], dtype, self.library).to_frame()
            for name, dtype in self.dtypes.items()
            if name in columns
        ]
        return nw.concat(frames, how="horizontal").to_native()


@dataclass(frozen=True)
class ArrayLayout:
    """The dtype of a NumPy array (n, d) that rows came in; its columns are x0, x1, ..."""

    dtype: str

    @classmethod
    def read(cls, array: np.ndarray) -> tuple[Self, list[Raw]]:
        """Return the layout and the columns of an array (n, d)."""
        if array.ndim != 2:
            raise ValueError(f"the table has shape {array.shape}: pass rows of columns, (n, d)")
        raws = []
        for i, column in enumerate(array.T):
            gaps = np.array([_is_missing(value) for value in column.tolist()], bool)
            raws.append(Raw.of(f"x{i}", column[~gaps], gaps))
        return cls(str(array.dtype)), raws

    def read_value(self, name: str, text: str) -> str:
        """Return a value of a column, as text."""
        return text

    def restore(self, columns: Mapping[str, Values]) -> np.ndarray:
        """Return columns as such an array; whole numbers with gaps become floats."""
        filled = [as_objects(list(_filled(*column))) for column in columns.values()]
        has_gaps = any(gaps.any() for _, gaps in columns.values())
        is_whole = np.dtype(self.dtype).kind in "iub"
        return np.stack(filled, axis=1).astype(float if has_gaps and is_whole else self.dtype)


def _dtype(column: nw.Series[Any], library: str) -> Dtype:
    """Return the dtype of a column."""
    dtype, is_pandas = column.dtype, library == "pandas"
    if isinstance(dtype, nw.Enum):
        return ["Enum", *dtype.categories]
    if isinstance(dtype, nw.Categorical):
        return ["Categorical", *(column.to_native().dtype.categories if is_pandas else ())]
    if is_pandas:
        return ["pandas", str(column.to_native().dtype)]
    name = type(dtype).__name__
    arguments = ("time_unit", "time_zone") if name == "Datetime" else ("time_unit",)
    return [name, *(getattr(dtype, key) for key in arguments if hasattr(dtype, key))]


def _raw(column: nw.Series[Any], dtype: Dtype) -> Raw:
    order = dtype[1:] if dtype[0] == "Enum" else None
    gaps = column.is_null().to_numpy()
    return Raw.of(column.name, np.asarray(column.drop_nulls().to_numpy()), gaps, order)


def _series(
    name: str, values: np.ndarray, gaps: np.ndarray, dtype: Dtype, library: Any
) -> nw.Series[Any]:
    """Return the values of a column as a series of this dtype."""
    is_object = dtype == ["pandas", "object"]
    filled = _filled(values.astype(object) if is_object else values, gaps)
    series = nw.new_series(name, filled, backend=library)
    if library == "pandas":
        return nw.from_native(_as_pandas(series.to_native(), *dtype), series_only=True)
    kind, *arguments = dtype
    if kind == "Datetime" and arguments[1]:
        series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(arguments[1])
    if kind in WORDS:
        return series.cast(nw.Enum(arguments) if kind == "Enum" else nw.Categorical())
    return series.cast(getattr(nw, kind)(*arguments))


def _as_pandas(series: Any, kind: str, *arguments: Any) -> Any:
    """Return a series of pandas as this dtype."""
    if kind in WORDS:
        categories = series.astype("category").cat
        return categories.set_categories(arguments, ordered=kind == "Enum")
    dtype = arguments[0]
    if dtype.startswith("datetime64") and "," in dtype:  # with a time zone
        series = series.dt.tz_localize("UTC")
    return series.astype(dtype)


def _filled(values: np.ndarray, gaps: np.ndarray) -> Any:
    """Return values with gaps as None, or as NaT if they are times."""
    if values.dtype.kind in "Mm":
        return np.where(gaps, np.array("NaT", values.dtype), values)
    if values.dtype != object and not gaps.any():
        return values
    pairs = zip(values.tolist(), gaps.tolist(), strict=True)
    return [None if is_gap else value for value, is_gap in pairs]


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value
