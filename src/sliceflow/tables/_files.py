"""Files of tables: CSV and Parquet, in and out."""

from pathlib import Path
from typing import Any, BinaryIO

import narwhals as nw
import numpy as np

from sliceflow.core._atomic import replacing
from sliceflow.data._tables import Table, is_csv, load_csv, write_csv


def is_table(path: str | Path) -> bool:
    """Return whether a path is of a table."""
    return is_csv(path) or is_parquet(path)


def is_parquet(path: str | Path) -> bool:
    """Return whether a path is of a Parquet file."""
    return Path(path).suffix.lower() == ".parquet"


def load_table(path: Path) -> Any:
    """Return the table of a file. That of a Parquet file is read when rows are taken from it."""
    if not is_parquet(path):
        return load_csv(path)
    from sliceflow.data._parquet import ParquetTable

    return ParquetTable(path)


def save_table(path: Path, table: Any) -> None:
    """Save a table of any kind."""
    if is_parquet(path):
        _save_parquet(path, table)
        return
    with replacing(path) as file:
        write_table(file, table)


def write_table(file: BinaryIO, table: Any) -> None:
    """Write a table of any kind as CSV."""
    if isinstance(table, Table):
        write_csv(file, table.names, list(table.columns.values()), table.separator)
    elif isinstance(table, np.ndarray):
        write_csv(file, [f"x{i}" for i in range(table.shape[1])], list(table.T))
    else:
        file.write((nw.from_native(table, eager_only=True).write_csv() or "").encode())


def _save_parquet(path: Path, table: Any) -> None:
    """Save a data frame; a table of text or of numbers has nothing that CSV would lose."""
    if isinstance(table, Table | np.ndarray):
        raise ValueError(f"{path}: these rows are text: save them as a file that ends in .csv")
    with replacing(path) as file:
        nw.from_native(table, eager_only=True).write_parquet(file)
