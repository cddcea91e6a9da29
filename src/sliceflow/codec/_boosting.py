"""Boosting: trees are added one by one, each fitted to what those before it left over.

It is Friedman's method (2001). It is written here, not taken from a library, because files hold
trees as plain arrays, and because any number of threads must give the same bits.
"""

from itertools import compress, islice, product
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

from sliceflow.codec._trees import DEPTH, FOLDS, Trees, predict, with_differences
from sliceflow.core._threads import parallel

TREES = 1000
"""Maximum number of trees of a sequence."""

PATIENCE = 30
"""A sequence ends if this many trees do not lessen the errors in the fold that it does not see."""

RATE, PENALTY = 0.15, 1.0
"""The part of its prediction that a tree adds, and the number of rows of zeros added to a leaf."""

MAX_CUTS = 63
"""Maximum number of cuts of a column, which are at its quantiles."""

MIN_GAIN = 0.1
"""By which part trees must lessen squared errors, or there are none."""


class Grown(NamedTuple):
    """A sequence of trees, grown without one fold.

    Attributes
    ----------
    columns, numbers
        The column, and the number of its cut, of each question, (trees, depth).
    values
        What each leaf of a tree adds, (trees, 2 ** depth).
    errors
        The sum of squared errors in that fold after any number of trees, (trees + 1,).
    """

    columns: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    errors: np.ndarray


class Boosting:
    """Boosted trees of one set of targets after another on the same y, (n, l), in random order."""

    def __init__(self, y: Tensor) -> None:
        self._y = with_differences(y.numpy())
        self._cuts = [_cuts(column) for column in self._y.T]
        pairs = zip(self._cuts, self._y.T, strict=True)
        codes = [np.searchsorted(cuts, column) for cuts, column in pairs]
        self._codes = np.stack(codes).astype(np.uint8)
        self._fold = np.arange(len(y)) % FOLDS

    def fit(self, targets: Tensor) -> list[tuple[Trees | None, Tensor]]:
        """Return the trees of each target, (n, T), and predictions of all rows without their fold.

        There are none if they would hardly lessen the errors. A target whose first fold has less
        than half of the gain is left there.
        """
        columns = [column.contiguous().numpy() for column in targets.T]
        first = parallel(lambda column: self._grow(column, 0), columns)
        promising = [_lessen(grown.errors, MIN_GAIN / 2) for grown in first]
        items = product(compress(columns, promising), range(1, FOLDS))
        others = iter(parallel(lambda item: self._grow(*item), items))
        pairs = zip(first, promising, strict=True)
        grown = [[one, *islice(others, (FOLDS - 1) * more)] for one, more in pairs]
        return parallel(self._joined, grown)

    def _joined(self, grown: list[Grown]) -> tuple[Trees | None, Tensor]:
        """Return the trees that were grown without each fold, and their predictions of it."""
        errors = np.sum([sequence.errors for sequence in grown], axis=0)
        if not _lessen(errors, MIN_GAIN):
            return None, torch.zeros(len(self._y), dtype=torch.float64)
        n_trees = int(errors.argmin())
        columns, numbers, values, _ = (
            np.stack(part)[:, :n_trees] for part in zip(*grown, strict=True)
        )
        cuts = self._padded_cuts[columns, numbers]
        trees = Trees(*(torch.from_numpy(part) for part in (columns, cuts, values)))
        return trees, self._without(trees)

    def _grow(self, target: np.ndarray, fold: int) -> Grown:
        """Return trees fitted to all folds but one, and their errors in that fold."""
        out = self._fold == fold
        n_cuts = np.array([len(cuts) for cuts in self._cuts])
        sides = (self._codes[:, ~out], target[~out], self._codes[:, out], target[out])
        return Grown(*_boost(*sides, n_cuts))

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
            predicted[out] = predict(self._y[out], *sequence)
        return torch.from_numpy(predicted)


def _lessen(errors: np.ndarray, part: float) -> bool:
    """Return whether some number of trees lessens squared errors, (trees + 1,), by this part."""
    return bool(errors.min() < (1 - part) * errors[0])


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
    sums = np.zeros((len(codes), 2 ** (DEPTH - 1), MAX_CUTS + 1, 2))
    for t in range(TREES):
        leaf = _ask(codes, left, n_cuts, sums, columns[t], numbers[t])
        leaf_out = np.zeros(len(left_out), np.int64)
        for column, number in zip(columns[t], numbers[t]):  # noqa: B905  (Numba has no strict=)
            leaf_out = 2 * leaf_out + (codes_out[column] > number)
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
def _ask(codes, left, n_cuts, sums, columns, numbers):  # type: ignore[no-untyped-def]
    """Write the questions of the next tree; return the leaf of each row."""
    leaf, rows = np.zeros(len(left), np.int64), np.arange(len(left))
    for column in range(len(codes)):
        _add_up(codes[column], left, leaf, rows, sums[column, :1])
    for level in range(DEPTH):
        columns[level], numbers[level] = _best_question(sums[:, : 2**level], n_cuts)
        leaf = 2 * leaf + (codes[columns[level]] > numbers[level])
        if level < DEPTH - 1:
            _split(codes, left, leaf, sums[:, : 2 ** (level + 1)])
    return leaf


@njit(cache=True, nogil=True)
def _add_up(codes, left, leaf, rows, sums):  # type: ignore[no-untyped-def]
    """Write what is left, and the number of rows, of each leaf and code of a column."""
    sums[:] = 0
    for i, row in enumerate(rows):
        cell = sums[leaf[i], codes[row]]
        cell[0] += left[i]
        cell[1] += 1


@njit(cache=True, nogil=True)
def _split(codes, left, leaf, sums):  # type: ignore[no-untyped-def]
    """Turn the sums of parents, (l, leaves / 2, ...), at the start of these, into those of leaves.

    Only the half of the parents with fewer rows is added up; the other half is the rest.
    """
    side = int(2 * (leaf % 2).sum() <= len(leaf))
    rows = np.flatnonzero(leaf % 2 == side)
    left, parent = left[rows], leaf[rows] // 2
    some = np.empty((sums.shape[1] // 2, MAX_CUTS + 1, 2))
    for column in range(len(codes)):
        _add_up(codes[column], left, parent, rows, some)
        for where in range(len(some) - 1, -1, -1):  # the last first: leaves take their places
            for code, (total, count) in enumerate(some[where]):
                all_total, all_count = sums[column, where, code]
                sums[column, 2 * where + side, code] = total, count
                sums[column, 2 * where + 1 - side, code] = all_total - total, all_count - count


@njit(cache=True, nogil=True)
def _best_question(sums, n_cuts):  # type: ignore[no-untyped-def]
    """Return the column and the number of the cut that explain most of what is left."""
    most, best = -1.0, (0, 0)
    for column in range(len(sums)):
        if n_cuts[column] == 0:
            continue
        gain = np.zeros(n_cuts[column])
        for leaf in sums[column]:
            _add_gains(leaf, gain)
        number = gain.argmax()
        if gain[number] > most:
            most, best = gain[number], (column, int(number))
    return best


@njit(cache=True, nogil=True)
def _add_gains(sums, gain):  # type: ignore[no-untyped-def]
    """Add what each cut of a leaf explains."""
    all_total, all_count = sums[:, 0].sum(), sums[:, 1].sum()
    below, n_below = 0.0, 0.0
    for number in range(len(gain)):
        below += sums[number, 0]
        n_below += sums[number, 1]
        above, n_above = all_total - below, all_count - n_below
        gain[number] += below * below / (n_below + PENALTY) + above * above / (n_above + PENALTY)
