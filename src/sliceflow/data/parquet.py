"""Parquet files, in blocks: their row groups. Needs pyarrow."""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sliceflow.data.folders import Size, decoded

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
    given
        The columns that are y: one of labels, or some of numbers.
    columns
        Those that are x: numbers, or one of images, encoded or as tensors of bytes. By default all
        but those of y.
    size
        Height and width to bring encoded images to.
    """

    paths: Sequence[Path]
    given: Sequence[str] = ()
    columns: Sequence[str] = ()
    size: Size | None = None
    by_row = False

    @cached_property
    def _files(self) -> list[ParquetFile]:
        return [ParquetFile(path) for path in self.paths]

    @cached_property
    def _groups(self) -> list[tuple[ParquetFile, int]]:
        return [(file, group) for file in self._files for group in range(file.num_row_groups)]

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many rows each block has."""
        return np.array([file.metadata.row_group(g).num_rows for file, g in self._groups])

    def read(self, block: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows of a block."""
        file, group = self._groups[block]
        names = self._columns
        table = file.read_row_group(group, [*names, *self.given], use_threads=False).take(rows)
        x = self._array([table[name] for name in names])
        x = x[:, None] if x.ndim == 1 else x
        return x, self._array([table[name] for name in self.given]) if self.given else None

    @cached_property
    def _columns(self) -> list[str]:
        names = self._files[0].schema_arrow.names
        if missing := {*self.given, *self.columns} - set(names):
            known = ", ".join(names)
            raise ValueError(f"{self.paths[0]} has no {', '.join(missing)}: it has {known}")
        return list(self.columns) or [name for name in names if name not in self.given]

    def _array(self, columns: list[Any]) -> np.ndarray:
        """Return one column of images or labels, (n, …), or some of numbers, (n, d)."""
        first = columns[0]
        if isinstance(first.type, pa.FixedShapeTensorType):
            tensors: np.ndarray = first.combine_chunks().to_numpy_ndarray()
            return tensors
        if pa.types.is_struct(first.type):
            first = pa.chunked_array([c.field("bytes") for c in first.chunks])
        if pa.types.is_binary(first.type):
            files = [io.BytesIO(value.as_py()) for value in first]
            return decoded(files, self.size)
        arrays = [column.to_numpy() for column in columns]
        if len(arrays) == 1 and arrays[0].dtype.kind == "O":
            return np.asarray(arrays[0].astype(str))
        return np.asarray(arrays[0] if len(arrays) == 1 else np.stack(arrays, axis=1))

    def digest(self) -> str:
        """Return a sum of the files' metadata."""
        told = [(path.name, path.stat().st_size) for path in self.paths]
        named = (told, self._columns, list(self.given), self.size, self.sizes.tolist())
        return hashlib.sha256(repr(named).encode()).hexdigest()
