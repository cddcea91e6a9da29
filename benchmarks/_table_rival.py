"""Fit one rival to a table with its default settings, and draw rows; run by the rivals' Python.

python _table_rival.py tvae task.json fitted.csv drawn.csv

The task names the columns of words and of whole numbers, and says how many rows to draw.
"""

import json
import sys
from collections.abc import Callable
from time import process_time

import numpy as np
import pandas as pd

Draw = Callable[[int], pd.DataFrame]

GAP = ""
"""A gap among words, as in the file that is written."""


def of_sdv(name: str) -> Callable[[pd.DataFrame, dict], Draw]:
    """Return what fits a synthesizer of SDV."""

    def fit(table: pd.DataFrame, task: dict) -> Draw:
        import sdv.single_table
        from sdv.metadata import Metadata

        metadata = Metadata.detect_from_dataframes({"rows": table}, infer_keys=None)
        for column in table.columns:
            sdtype = "categorical" if column in task["words"] else "numerical"
            metadata.update_column(table_name="rows", column_name=column, sdtype=sdtype)
        model = getattr(sdv.single_table, name)(metadata)
        model.fit({"rows": table})
        return lambda n: model.sample(n)["rows"]

    return fit


def forest_diffusion(table: pd.DataFrame, task: dict) -> Draw:
    """Fit a diffusion by boosted trees."""
    from ForestDiffusion import ForestDiffusionModel

    codes, words = encoded(table, task)
    numbers = {kind: [table.columns.get_loc(c) for c in task[kind]] for kind in ("words", "whole")}
    model = ForestDiffusionModel(
        codes, cat_indexes=numbers["words"], int_indexes=numbers["whole"], n_jobs=1, seed=0
    )
    return lambda n: decoded(model.generate(batch_size=n), table, words)


def utrees(table: pd.DataFrame, task: dict) -> Draw:
    """Fit trees that unmask one column after another."""
    from utrees import UnmaskingTrees

    codes, words = encoded(table, task)
    kinds = dict.fromkeys(task["words"], "categorical") | dict.fromkeys(task["whole"], "integer")
    model = UnmaskingTrees(random_state=0)
    model.fit(codes, quantize_cols=[kinds.get(c, "continuous") for c in table.columns])
    return lambda n: decoded(model.generate(n_generate=n), table, words)


def bootstrap(table: pd.DataFrame, task: dict) -> Draw:
    """Copy rows, and add noise of a hundredth of a deviation to numbers with decimals."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> pd.DataFrame:
        rows = table.iloc[rng.integers(len(table), size=n)].reset_index(drop=True)
        for column in set(table.columns) - set(task["words"]) - set(task["whole"]):
            rows[column] += 0.01 * table[column].std() * rng.normal(size=n)
        return rows

    return draw


def encoded(table: pd.DataFrame, task: dict) -> tuple[np.ndarray, dict[str, list]]:
    """Return the table as numbers, and the words that the codes of columns stand for.

    A gap among words counts as one of them, since codes have no other place for it.
    """
    codes = table.fillna(dict.fromkeys(task["words"], GAP))
    words = {column: sorted(codes[column].unique()) for column in task["words"]}
    for column, known in words.items():
        codes[column] = codes[column].map({word: i for i, word in enumerate(known)})
    return codes.to_numpy(float), words


def decoded(codes: np.ndarray, table: pd.DataFrame, words: dict[str, list]) -> pd.DataFrame:
    """Return rows of numbers as rows of the table."""
    rows = pd.DataFrame(codes, columns=table.columns)
    for column, known in words.items():
        places = rows[column].round().astype(int).clip(0, len(known) - 1)
        rows[column] = [known[i] for i in places]
    return rows


METHODS = {
    "gaussian_copula": of_sdv("GaussianCopulaSynthesizer"),
    "tvae": of_sdv("TVAESynthesizer"),
    "ctgan": of_sdv("CTGANSynthesizer"),
    "forest_diffusion": forest_diffusion,
    "utrees": utrees,
    "bootstrap": bootstrap,
}


def main(name: str, task_file: str, fitted: str, drawn: str) -> None:
    """Do the task of a file."""
    with open(task_file) as file:
        task = json.load(file)
    table = pd.read_csv(fitted, dtype=dict.fromkeys(task["words"], str))
    started = process_time()
    draw = METHODS[name](table, task)
    draw(task["n"]).to_csv(drawn, index=False)
    print(json.dumps({"seconds": process_time() - started}))


if __name__ == "__main__":
    main(*sys.argv[1:])
