"""What MLflow knows of a model: the columns that it is given, those that it draws, and settings."""

import math

import numpy as np
import torch
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema, TensorSpec
from mlflow.types.schema import AnyType

from sliceflow.model import Model
from sliceflow.table_model import TableModel

SETTINGS = ParamSchema([ParamSpec("n", "long", 1), ParamSpec("random_state", "long", None)])
"""The number of samples for each row, and their seed; by default each call gives new samples."""

TYPES = {"i": "long", "u": "long", "f": "double", "b": "boolean", "M": "datetime"}
"""MLflow's names of the types of columns; those of the others are not checked."""


def signature_of(model: Model | TableModel) -> ModelSignature:
    """Return the signature of a model.

    What is given may have any type for MLflow, which would refuse whole numbers in place of
    others. The model itself checks it.
    """
    given, drawn = _of_table(model) if isinstance(model, TableModel) else _of_flow(model)
    return ModelSignature(given, drawn, SETTINGS)


def _of_table(model: TableModel) -> tuple[Schema, Schema]:
    given = Schema([_any(column.name, required=False) for column in model.columns])
    return given, Schema([_typed(column.name, column.dtype) for column in model.columns])


def _of_flow(model: Model) -> tuple[Schema | None, Schema]:
    codec, shape, d = model.codec, model.shape, math.prod(model.shape)
    dtype = torch.empty(0, dtype=codec.with_output("numpy").x.dtype).numpy().dtype
    images = Schema([TensorSpec(dtype, (-1, *shape))])
    is_images, mask = len(shape) == 3, codec.condition.mask
    drawn = images if is_images else Schema([_typed(name, dtype) for name in codec.columns[:d]])
    if mask is not None and is_images:
        return images, drawn
    if mask is not None:
        pairs = zip(codec.columns[:d], mask.tolist(), strict=True)
        return Schema([_any(name, is_given) for name, is_given in pairs]), drawn
    given = [_any(name) for name in codec.columns[d:]]
    return (Schema(given) if given else None), drawn


def _any(name: str, required: bool = True) -> ColSpec:
    return ColSpec(AnyType(), name, required=required)


def _typed(name: str, dtype: np.dtype) -> ColSpec:
    return ColSpec(TYPES.get(dtype.kind, AnyType()), name, required=False)
