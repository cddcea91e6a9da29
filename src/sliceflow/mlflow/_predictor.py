"""What MLflow calls to predict: for each row that is given, samples."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sliceflow.core._validation import check_integer, check_seed
from sliceflow.model import Model
from sliceflow.table_model import TableModel


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model as MLflow has it."""

    model: Model | TableModel

    def get_raw_model(self) -> Model | TableModel:
        """Return the model itself. MLflow has this name."""
        return self.model

    def predict(self, rows: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return samples for each row of what is given, in the order of the rows.

        The ``params`` are ``n``, the number of samples for each row, by default 1, and
        ``random_state``, their seed. Without conditions, only the number of rows counts. A table's
        rows may give any columns, at least one; missing values are drawn. Rows of a table are
        data frames, and images are arrays.
        """
        settings = params or {}
        if not len(rows):
            raise ValueError(
                "there are no rows: pass some. MLflow drops rows without any column of the model, "
                "so give a table at least one, of missing values if nothing is given"
            )
        n, seed = check_integer("n", settings.get("n", 1), 1), settings.get("random_state")
        places = np.repeat(np.arange(len(rows)), n)
        each = rows.iloc[places] if isinstance(rows, pd.DataFrame) else np.asarray(rows)[places]
        if isinstance(self.model, TableModel):
            return _rows_of_table(self.model, each, check_seed(seed))
        return _samples_of_flow(self.model, each, seed)


def _samples_of_flow(model: Model, rows: Any, seed: int | None) -> Any:
    codec, d = model.codec, int(np.prod(model.shape))
    is_table = len(model.shape) == 1
    y = rows if codec.condition.l or codec.condition.mask is not None else None
    if codec.condition.mask is not None and is_table:
        y = rows.reindex(columns=codec.columns[:d]).to_numpy()  # may lack what is not observed
    samples = model.sample(len(rows), y, seed, output="numpy")
    return pd.DataFrame(samples, columns=list(codec.columns[:d])) if is_table else samples


def _rows_of_table(model: TableModel, rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a row for each, given its values. Question i, of several, has the seed plus i."""
    questions: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for place, row in enumerate(rows.to_dict("records")):
        given = tuple((str(name), value) for name, value in row.items() if not pd.isna(value))
        questions.setdefault(given, []).append(place)
    drawn = [
        _frame(model, len(places), dict(given), seed + number)
        for number, (given, places) in enumerate(questions.items())
    ]
    order = np.argsort(np.concatenate([*questions.values()]))
    return pd.concat(drawn).iloc[order].reset_index(drop=True)


def _frame(model: TableModel, n: int, given: dict[str, Any], seed: int) -> pd.DataFrame:
    """Return rows as a data frame: with the dtypes of the data, if it was one of pandas."""
    if getattr(model.layout, "library", None) == "pandas":
        return model.sample(n, given, seed)
    return pd.DataFrame(model.sample_columns(n, given, seed))
