"""Parquet files. Their row groups are the blocks. Needs pyarrow."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from sliceflow.core._reading import FileError, check_file, reading
from sliceflow.data._arrays import LABELS, NUMBERS, check_finite
from sliceflow.data._folders import Encoded, Size, decoded
from sliceflow.data._tables import StoredTable

try:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile
except ImportError as missing:
    raise ImportError('Parquet files need pyarrow: pip install "sliceflow[streams]"') from missing


@dataclass(frozen=True, eq=False)
class ParquetBlocks:
    """Rows of Parquet files that have the same columns.

    Parameters
    ----------
    paths
        The files.
    y
        The names of the columns of y: one of labels, or any number of numeric ones.
    columns
        The columns of x: numeric ones, or one of images, encoded or as tensors of bytes. By default
        all that are not in y.
    size
        Height and width to resize encoded images to.
    """

    paths: Sequence[Path]
    y: Sequence[str] = ()
    columns: Sequence[str] = ()
    size: Size | None = None
    by_row = False

    @cached_property
    def _files(self) -> list[ParquetFile]:
        files = []
        for path in self.paths:
            with reading(path, "Parquet file"):
                files.append(ParquetFile(check_file(path)))
        return files

    @cached_property
    def _groups(self) -> list[tuple[int, int]]:
        counts = [range(file.num_row_groups) for file in self._files]
        return [(number, group) for number, groups in enumerate(counts) for group in groups]

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many rows each block has."""
        groups = [self._files[number].metadata.row_group(g) for number, g in self._groups]
        return np.array([group.num_rows for group in groups], int)

    def read(self, block: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows of a block."""
        number, group = self._groups[block]
        path, names = self.paths[number], [*self._columns, *self.y]
        with reading(path, "Parquet file of the columns that the first one has"):
            table = self._files[number].read_row_group(group, names, use_threads=False).take(rows)
        for name in names:
            if table[name].null_count:
                raise FileError(
                    f"{path}: column {name!r} has missing values: fill them in, drop their rows, "
                    "or leave the column out"
                )
        x = self._array(path, self._columns, table, NUMBERS)
        y = self._array(path, self.y, table, LABELS) if self.y else None
        return x[:, None] if x.ndim == 1 else x, y

    @cached_property
    def _columns(self) -> list[str]:
        names = self._files[0].schema_arrow.names
        if missing := {*self.y, *self.columns} - set(names):
            known = ", ".join(names)
            raise ValueError(f"{self.paths[0]} has no {', '.join(missing)}: it has {known}")
        return list(self.columns) or [name for name in names if name not in self.y]

    def _array(self, path: Path, names: Sequence[str], table: Any, kinds: str) -> np.ndarray:
        """Return one column of images or labels, (n, …), or numeric columns, (n, d)."""
        first = table[names[0]]
        if isinstance(first.type, pa.FixedShapeTensorType):
            tensors: np.ndarray = first.combine_chunks().to_numpy_ndarray()
            return tensors
        if pa.types.is_struct(first.type):
            first = pa.chunked_array([c.field("bytes") for c in first.chunks])
        if pa.types.is_binary(first.type):
            files = [Encoded(f"an image in {path}", value.as_py()) for value in first]
            return decoded(files, self.size)
        kinds = kinds if len(names) == 1 else NUMBERS
        arrays = [self._column(path, name, table[name], kinds) for name in names]
        return arrays[0] if len(arrays) == 1 else np.stack(arrays, axis=1)

    def _column(self, path: Path, name: str, column: Any, kinds: str) -> np.ndarray:
        """Return a column of numbers, or of strings if they may be labels."""
        values = np.asarray(column.to_numpy())
        if values.dtype.kind == "O" and kinds == LABELS:
            values = values.astype(str)
        if values.dtype.kind not in kinds:
            raise FileError(
                f"{path}: column {name!r} is {column.type}, not numbers: leave it out, or "
                "condition on it alone"
            )
        check_finite(path, values)
        return values

    def digest(self) -> str:
        """Return a checksum of the files' metadata."""
        files = [(path.name, path.stat().st_size) for path in self.paths]
        named = (files, self._columns, list(self.y), self.size, self.sizes.tolist())
        return hashlib.sha256(repr(named).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class ParquetTable(StoredTable):
    """A table in a Parquet file, of which rows are read when they are taken.

    Parameters
    ----------
    path
        The file.
    columns
        The names of the columns. By default all.
    """

    path: Path
    columns: Sequence[str] = ()

    @cached_property
    def _file(self) -> ParquetFile:
        with reading(self.path, "Parquet file"):
            return ParquetFile(check_file(self.path))

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns) or list(self._file.schema_arrow.names)

    def select(self, names: Sequence[str]) -> Self:
        """Return some of the columns."""
        return replace(self, columns=tuple(names))

    def take(self, rows: np.ndarray) -> pa.Table:
        """Return the rows of these numbers; one row group is read at a time."""
        parts, first = [self._file.schema_arrow.empty_table().select(self.names)], 0
        for group in range(self._file.num_row_groups):
            last = first + self._file.metadata.row_group(group).num_rows
            inside = rows[(rows >= first) & (rows < last)] - first
            if len(inside):
                with reading(self.path, "Parquet file"):
                    table = self._file.read_row_group(group, self.names, use_threads=False)
                parts.append(table.take(inside))
            first = last
        return pa.concat_tables(parts)
