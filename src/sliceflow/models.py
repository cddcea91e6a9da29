"""Reading models of any kind."""

from pathlib import Path

from sliceflow.files._archive import Config, format_of
from sliceflow.files._models import describe_model
from sliceflow.files._table_models import FORMAT, describe_table
from sliceflow.model import Model
from sliceflow.table_model import TableModel


def load(path: str | Path) -> Model | TableModel:
    """Read a model from a file: a recorded flow, or a model of a table.

    `FileError` says what is wrong with the file.
    """
    return TableModel.load(path) if format_of(Path(path)) == FORMAT else Model.load(path)


def describe(path: str | Path) -> tuple[Config, str]:
    """Return the settings and the card of a model file, after verifying its checksums."""
    path = Path(path)
    return describe_table(path) if format_of(path) == FORMAT else describe_model(path)
