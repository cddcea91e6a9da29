"""Boosted trees: they predict what kernels leave over, such as steps, or few of many columns.

Trees are added one by one, each fitted to what those before it left over (Friedman 2001). All nodes
of one level of a tree ask the same question, "is this column of y above this cut?" (as in CatBoost,
Prokhorenkova et al. 2018). So a tree is a few questions and a table of values, and a prediction is
a look-up. They are written here, not taken from a library, because files hold them as plain arrays,
and because any number of threads must give the same bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numba import njit
from torch import Tensor

FOLDS = 5
"""Each row is predicted by trees that were fitted to the other folds."""

TREES, DEPTH = 1000, 6
"""Maximum number of trees, and the number of questions of each."""

PATIENCE = 30
"""A sequence ends if this many trees do not lessen the errors in the fold that it does not see."""

RATE, PENALTY = 0.1, 1.0
"""The part of its prediction that a tree adds, and the number of rows of zeros added to a leaf."""

MAX_CUTS = 63
"""Maximum number of cuts of a column, which are at its quantiles."""

MIN_GAIN = 0.1
"""By which part trees must lessen squared errors, or there are none."""


@dataclass(frozen=True, eq=False)
class Trees:
    """The mean of the predictions of several sequences of trees, for one target.

    Parameters
    ----------
    columns, cuts
        The column and the cut of each question, (sequences, trees, depth).
    values
        What each leaf of a tree adds, (sequences, trees, 2 ** depth).
    """

    columns: Tensor
    cuts: Tensor
    values: Tensor

    def __call__(self, y: Tensor) -> Tensor:
        """Return the predictions for rows y, (n, l): (n,)."""
        each = [_predict(y.numpy(), *sequence) for sequence in self.sequences()]
        return torch.from_numpy(np.mean(each, axis=0))

    def sequences(self) -> Iterator[tuple[np.ndarray, ...]]:
        """Return the columns, cuts and values of each sequence."""
        return zip(*(part.numpy() for part in (self.columns, self.cuts, self.values)), strict=True)


NO_TREES = Trees(
    torch.empty(FOLDS, 0, DEPTH, dtype=torch.long),
    torch.empty(FOLDS, 0, DEPTH, dtype=torch.float64),
    torch.empty(FOLDS, 0, 2**DEPTH, dtype=torch.float64),
)


class Boosting:
    """Boosted trees of one target after another on the same y, (n, l), in random order."""

    def __init__(self, y: Tensor) -> None:
        self._y = y.contiguous().numpy()
        self._cuts = [_cuts(column) for column in self._y.T]
        pairs = zip(self._cuts, self._y.T, strict=True)
        codes = [np.searchsorted(cuts, column) for cuts, column in pairs]
        self._codes = np.stack(codes, axis=1).astype(np.uint8)
        self._fold = np.arange(len(y)) % FOLDS

    def fit(self, target: Tensor) -> tuple[Trees | None, Tensor]:
        """Return the trees of a target, (n,), and for each row the prediction without its fold.

        There are none if they would hardly lessen the errors.
        """
        grown = [self._grow(target.numpy(), fold) for fold in range(FOLDS)]
        errors = np.sum([curve for *_, curve in grown], axis=0)
        n_trees = int(errors.argmin())
        if errors[n_trees] >= (1 - MIN_GAIN) * errors[0]:
            return None, torch.zeros_like(target)
        parts = zip(*(sequence[:-1] for sequence in grown), strict=True)
        columns, numbers, values = (np.stack(part)[:, :n_trees] for part in parts)
        cuts = self._padded_cuts[columns, numbers]
        trees = Trees(*(torch.from_numpy(part) for part in (columns, cuts, values)))
        return trees, self._without(trees)

    def _grow(self, target: np.ndarray, fold: int) -> tuple[np.ndarray, ...]:
        """Return trees fitted to all folds but one, and their errors in that fold."""
        out = self._fold == fold
        n_cuts = np.array([len(cuts) for cuts in self._cuts])
        sides = (self._codes[~out], target[~out], self._codes[out], target[out])
        grown: tuple[np.ndarray, ...] = _boost(*sides, n_cuts)
        return grown

    @property
    def _padded_cuts(self) -> np.ndarray:
        """The cuts of each column, (l, most)."""
        most = max(1, *(len(cuts) for cuts in self._cuts))
        return np.stack([np.pad(cuts, (0, most - len(cuts))) for cuts in self._cuts])

    def _without(self, trees: Trees) -> Tensor:
        """Return the prediction of each row by the sequence that was fitted without its fold."""
        predicted = np.empty(len(self._y))
        for fold, sequence in enumerate(trees.sequences()):
            out = self._fold == fold
            predicted[out] = _predict(self._y[out], *sequence)
        return torch.from_numpy(predicted)


def _cuts(column: np.ndarray) -> np.ndarray:
    """Return cuts between the values of a column, at most `MAX_CUTS`, about equally many each."""
    values = np.unique(column)
    if len(values) > MAX_CUTS + 1:
        values = np.unique(np.quantile(column, np.linspace(0, 1, MAX_CUTS + 1), method="nearest"))
    cuts: np.ndarray = (values[:-1] + values[1:]) / 2
    return cuts


@njit(cache=True, nogil=True)
def _boost(codes, target, codes_out, target_out, n_cuts):  # type: ignore[no-untyped-def]
    """Fit trees to a target; return their questions and values, and squared errors elsewhere."""
    left, left_out = target.copy(), target_out.copy()
    columns, numbers = np.zeros((TREES, DEPTH), np.int64), np.zeros((TREES, DEPTH), np.int64)
    values, errors = np.zeros((TREES, 2**DEPTH)), np.full(TREES + 1, np.inf)
    errors[0] = np.square(left_out).sum()
    for t in range(TREES):
        leaf, leaf_out = np.zeros(len(left), np.int64), np.zeros(len(left_out), np.int64)
        for level in range(DEPTH):
            column, number = _best_question(codes, left, leaf, 2**level, n_cuts)
            columns[t, level], numbers[t, level] = column, number
            leaf = 2 * leaf + (codes[:, column] > number)
            leaf_out = 2 * leaf_out + (codes_out[:, column] > number)
        total, count = np.zeros(2**DEPTH), np.full(2**DEPTH, PENALTY)
        for i, where in enumerate(leaf):
            total[where] += left[i]
            count[where] += 1
        values[t] = RATE * total / count
        left -= values[t][leaf]
        left_out -= values[t][leaf_out]
        errors[t + 1] = np.square(left_out).sum()
        if t >= PATIENCE and errors[t + 1] >= errors[: t + 2 - PATIENCE].min():
            break
    return columns, numbers, values, errors


@njit(cache=True, nogil=True)
def _best_question(codes, left, leaf, n_leaves, n_cuts):  # type: ignore[no-untyped-def]
    """Return the column and the number of the cut that explain most of what is left."""
    most, best = -1.0, (0, 0)
    for column in range(codes.shape[1]):
        if n_cuts[column] == 0:
            continue
        total = np.zeros((n_leaves, n_cuts[column] + 1))
        count = np.zeros((n_leaves, n_cuts[column] + 1))
        for i, where in enumerate(leaf):
            total[where, codes[i, column]] += left[i]
            count[where, codes[i, column]] += 1
        gain = np.zeros(n_cuts[column])
        for where in range(n_leaves):
            _add_gains(total[where], count[where], gain)
        number = gain.argmax()
        if gain[number] > most:
            most, best = gain[number], (column, int(number))
    return best


@njit(cache=True, nogil=True)
def _add_gains(total, count, gain):  # type: ignore[no-untyped-def]
    """Add what each cut of a leaf explains; totals and counts are those between cuts."""
    all_total, all_count = total.sum(), count.sum()
    below, n_below = 0.0, 0.0
    for number in range(len(gain)):
        below += total[number]
        n_below += count[number]
        above, n_above = all_total - below, all_count - n_below
        gain[number] += below * below / (n_below + PENALTY) + above * above / (n_above + PENALTY)


@njit(cache=True, nogil=True)
def _predict(y, columns, cuts, values):  # type: ignore[no-untyped-def]
    """Return the sum of what the trees add for each row."""
    total = np.zeros(len(y))
    for i in range(len(y)):
        for t in range(len(values)):
            leaf = 0
            for level in range(columns.shape[1]):
                leaf = 2 * leaf + (y[i, columns[t, level]] > cuts[t, level])
            total[i] += values[t, leaf]
    return total
