"""Boosted trees: they predict what kernels leave over, such as steps, or few of many columns.

All nodes of one level of a tree ask the same question, "is this column of y above this cut?" (as in
CatBoost, Prokhorenkova et al. 2018). So a tree is a few questions and a table of values, and a
prediction is a look-up. The difference of two columns is a column, too: by differences, a few
questions tell whether values of y are close together.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numba import njit
from torch import Tensor

FOLDS = 5
"""Number of sequences of trees; each is fitted without one fold of the rows."""

DEPTH = 6
"""Number of questions of a tree."""

MAX_DIFFERENCED = 12
"""Maximum number of columns of y whose differences are columns, too."""


@dataclass(frozen=True, eq=False)
class Trees:
    """The mean of the predictions of several sequences of trees, for one target.

    Parameters
    ----------
    columns, cuts
        The column of `with_differences` and the cut of each question, (sequences, trees, depth).
    values
        What each leaf of a tree adds, (sequences, trees, 2 ** depth).
    """

    columns: Tensor
    cuts: Tensor
    values: Tensor

    def __call__(self, y: Tensor) -> Tensor:
        """Return the predictions for rows y, (n, l): (n,)."""
        rows = with_differences(y.numpy())
        each = [predict(rows, *sequence) for sequence in self.sequences()]
        return torch.from_numpy(np.mean(each, axis=0))

    def sequences(self) -> Iterator[tuple[np.ndarray, ...]]:
        """Return the columns, cuts and values of each sequence."""
        return zip(*(part.numpy() for part in (self.columns, self.cuts, self.values)), strict=True)


NO_TREES = Trees(
    torch.empty(FOLDS, 0, DEPTH, dtype=torch.long),
    torch.empty(FOLDS, 0, DEPTH, dtype=torch.float64),
    torch.empty(FOLDS, 0, 2**DEPTH, dtype=torch.float64),
)


def with_differences(y: np.ndarray) -> np.ndarray:
    """Return rows y, (n, l), and the differences of each two columns if there are few."""
    l = y.shape[1]
    i, j = np.triu_indices(l if l <= MAX_DIFFERENCED else 0, 1)
    return np.concatenate([y, y[:, i] - y[:, j]], axis=1)


def n_columns(l: int) -> int:
    """Return the number of columns that trees of l columns of y ask about."""
    return int(with_differences(np.empty((0, l))).shape[1])


@njit(cache=True, nogil=True)
def predict(y, columns, cuts, values):  # type: ignore[no-untyped-def]
    """Return the sum of what the trees add for each row."""
    total = np.zeros(len(y))
    for i in range(len(y)):
        for t in range(len(values)):
            leaf = 0
            for level in range(columns.shape[1]):
                leaf = 2 * leaf + (y[i, columns[t, level]] > cuts[t, level])
            total[i] += values[t, leaf]
    return total
