"""Saving models for MLflow, which loads them by `_load_pyfunc`, from the file that `save` writes.

MLflow pickles models that are Python objects; a loader module and a data file need no pickle.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sliceflow import __version__
from sliceflow.model import Model
from sliceflow.models import load
from sliceflow.table_model import TableModel

try:
    from mlflow import pyfunc

    from sliceflow.mlflow._predictor import Predictor
    from sliceflow.mlflow._signature import signature_of
except ImportError as missing:
    raise ImportError('this needs MLflow and pandas: pip install "sliceflow[mlflow]"') from missing

FILE = "model.zip"


def save_model(model: Model | TableModel, path: str | Path, **settings: Any) -> None:
    """Write a model to a folder, as MLflow has them.

    The ``settings`` are those of `mlflow.pyfunc.save_model`, such as ``metadata``.
    """
    with _saved(model) as saved:
        pyfunc.save_model(str(path), **saved | settings)


def log_model(model: Model | TableModel, name: str, **settings: Any) -> Any:
    """Log a model to the active run of MLflow under a name, and return what MLflow says of it.

    The ``settings`` are those of `mlflow.pyfunc.log_model`, such as ``registered_model_name``.
    """
    with _saved(model) as saved:
        return pyfunc.log_model(name=name, **saved | settings)


def load_model(model_uri: str) -> Model | TableModel:
    """Load a model from MLflow, as it was before: `mlflow.pyfunc.load_model` only predicts."""
    model: Model | TableModel = pyfunc.load_model(model_uri).get_raw_model()
    return model


def _load_pyfunc(path: str) -> Predictor:
    """Load what predicts. Only MLflow calls this."""
    return Predictor(load(path))


@contextmanager
def _saved(model: Model | TableModel) -> Iterator[dict[str, Any]]:
    """Save a model for a while, and yield what MLflow has to know of it."""
    with TemporaryDirectory() as place, warnings.catch_warnings():
        # MLflow advises to give an example, from which it finds the signature
        warnings.filterwarnings("ignore", ".*An input example was not provided", UserWarning)
        path = Path(place) / FILE
        model.save(path)
        yield {
            "loader_module": "sliceflow.mlflow",
            "data_path": str(path),
            "signature": signature_of(model),
            "pip_requirements": [f"sliceflow[mlflow]=={__version__}"],
        }
