"""What samples of a flow are given: what a model takes, and what a request says."""

import math
from typing import Any

import numpy as np

from sliceflow.model import Model
from sliceflow.serve._requests import Given


def describe_given(model: Model) -> dict[str, Any]:
    """Describe what samples of a flow are given."""
    codec = model.codec
    if codec.classes is not None:
        return {"type": "label", "labels": codec.classes.tolist()}
    if codec.condition.mask is not None and len(model.shape) == 3:
        return {"type": "image"}
    columns = given_columns(model)
    return {"type": "columns", "columns": columns} if columns else {"type": "nothing"}


def given_columns(model: Model) -> list[dict[str, Any]]:
    """Return the names of the columns that are given, and their range or their words."""
    codec = model.codec
    ends = [{"min": low, "max": high} for low, high in codec.support.ends.tolist()]
    if codec.condition.mask is not None:
        names = [codec.columns[i] for i in codec.support.given.tolist()]
    elif codec.n_given:
        names = list(codec.columns[-codec.n_given :])
    else:
        return []
    if codec.words is not None:  # a column of words has become several
        starts = np.cumsum([0, *codec.words.widths])
        known = zip(codec.words.columns, starts, strict=False)
        ends = [ends[i] if words is None else {"values": words.tolist()} for words, i in known]
    return [{"name": name, **values} for name, values in zip(names, ends, strict=True)]


def example_of(model: Model) -> Any:
    """Return y for one sample, as good as any."""
    codec = model.codec
    if codec.classes is not None:
        return codec.classes[:1]
    if codec.condition.mask is not None and len(model.shape) == 3:
        return np.zeros((1, *model.shape))
    columns = given_columns(model)
    return _rows(model, 1, [c["values"][0] if "values" in c else c["min"] for c in columns])


def y_of(model: Model, n: int, given: Given) -> Any:
    """Return y for n samples, from what a request gives."""
    classes = model.codec.classes
    if classes is None:
        return _rows(model, n, _values(given_columns(model), given))
    if given is None:  # equally many of each label, as the command line draws them
        return np.sort(np.resize(classes, n))
    if isinstance(given, dict):
        raise ValueError("given is by column, and the model has labels: give one, such as given=7")
    return classes[model.codec.given(n, given)]


def _values(columns: list[dict[str, Any]], given: Given) -> list[Any]:
    """Return the value of each column that is given."""
    if not columns and given is not None:
        raise ValueError("the model is given nothing: leave out given")
    names = [column["name"] for column in columns]
    if isinstance(given, dict):
        if unknown := [name for name in given if name not in names]:
            raise ValueError(f"{unknown[0]!r} is not given to this model: give {', '.join(names)}")
        given = [given[name] for name in names if name in given]  # type: ignore[misc]
    values = given if isinstance(given, list) else [given] * (given is not None)
    if len(values) != len(names):
        raise ValueError(f"give one value of each of {', '.join(names)}, by name")
    for column, value in zip(columns, values, strict=True):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if "min" in column and not is_number:
            raise ValueError(f"{column['name']} is a number: give one, such as {column['min']}")
    return values


def _rows(model: Model, n: int, values: list[Any]) -> np.ndarray | None:
    """Return y of n samples that are given the same values."""
    codec = model.codec
    if not values:
        return None
    if codec.condition.mask is not None:
        rows = np.full((n, math.prod(model.shape)), np.nan)
        rows[:, codec.support.given] = values
        return rows
    return np.tile(np.array(values, float if codec.words is None else object), (n, 1))
