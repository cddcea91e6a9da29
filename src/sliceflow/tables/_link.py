"""One link of a chain: the map T(u | x_before) from noise to a column, given those before it.

If the column is continuous, a line is taken out first, so that leaves can be large:

    x = line(x_before) + r,   r drawn from the leaf of x_before

Otherwise the value itself is drawn from the leaf, and is one of the data. In both cases the forest
also sees what lines predict, since a tree by itself sees one column at a time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from sliceflow.codec._ridge import Ridge
from sliceflow.core._random import child_seed
from sliceflow.core._threads import single_threaded
from sliceflow.tables._columns import GAP, Column
from sliceflow.tables._forest import Forest, most_frequent
from sliceflow.tables._ordering import places_of_words

MIN_LEAF = 15
"""Minimum number of rows in a leaf of values: with fewer, rows of the data would be copied."""

SMOOTH_LEAF, WORD_LEAF = 2.0, 0.3
"""A leaf of residuals, or of words, of n rows has at least this many times √n of them."""

BELOW_ALL = -10.0
"""How trees see a gap: below all scores."""

INTERCEPT = 3.0
"""The constant feature. It is larger than others, since a penalty should hardly reach it."""

MAX_ONE_HOT = 20
"""Maximum number of words that a line sees as columns of zeros and ones."""

TREE_SEEDS = 2**31
"""scikit-learn's seeds are below this."""


@dataclass(frozen=True, eq=False)
class Sight:
    """How a map sees the columns before it: numbers as they are placed, words in an order.

    Parameters
    ----------
    columns
        The numbers of the columns before it.
    places
        For each, the place of each of its codes, the last for a gap.
    are_words
        Which of them a line sees as a column of zeros and ones for each word.
    """

    columns: tuple[int, ...]
    places: tuple[np.ndarray, ...]
    are_words: tuple[bool, ...]

    @classmethod
    def of(
        cls,
        codes: np.ndarray,
        columns: Sequence[Column],
        before: tuple[int, ...],
        targets: np.ndarray,
    ) -> Self:
        """Return how columns are seen to predict targets, (n, T)."""
        words = [i for i in before if not columns[i].is_ordered]
        places = (
            places_of_words(codes[:, i].astype(int), len(columns[i].values), targets)
            if i in words
            else np.append(columns[i].places, BELOW_ALL)
            for i in before
        )
        are_words = (i in words and len(columns[i].values) <= MAX_ONE_HOT for i in before)
        return cls(before, tuple(places), tuple(are_words))

    @property
    def n_features(self) -> int:
        """The number of columns that a line sees."""
        widths = [len(p) - 1 if w else 1 for p, w in zip(self.places, self.are_words, strict=True)]
        return 1 + sum(widths)

    def for_trees(self, codes: np.ndarray) -> np.ndarray:
        """Return the columns before of rows of codes as trees see them, (n, len(columns))."""
        seen = [
            np.where(codes[:, i] == GAP, places[-1], _at(places[:-1], codes[:, i]))
            for i, places in zip(self.columns, self.places, strict=True)
        ]
        return np.stack(seen, axis=1) if seen else np.empty((len(codes), 0))

    def for_line(self, codes: np.ndarray) -> np.ndarray:
        """Return the columns before as a line sees them, and a constant; gaps are 0."""
        parts = [np.full((len(codes), 1), INTERCEPT)]
        for i, places, is_words in zip(self.columns, self.places, self.are_words, strict=True):
            column = codes[:, i]
            if is_words:
                parts.append(column[:, None] == np.arange(len(places) - 1))
            else:
                parts.append(np.where(column == GAP, 0, _at(places[:-1], column))[:, None])
        return np.concatenate(parts, axis=1)


def _at(places: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the places of codes, which may lie between those of the data."""
    at: np.ndarray = np.interp(codes, np.arange(len(places)), places)
    return at


@dataclass(frozen=True, eq=False)
class Link:
    """The map of one column, given those before it.

    Parameters
    ----------
    column
        The number of the column.
    sight
        How the columns before it are seen.
    line
        The coefficients of lines that predict the column, or each of its frequent words, (P, T).
    is_smooth
        Whether leaves hold residuals of the line, and not values.
    forest
        The leaves.
    """

    column: int
    sight: Sight
    line: np.ndarray
    is_smooth: bool
    forest: Forest

    @classmethod
    def fit(
        cls,
        codes: np.ndarray,
        columns: Sequence[Column],
        column: int,
        before: tuple[int, ...],
        seed: int,
    ) -> Self:
        """Make the map of a column from the codes of rows, (n, d)."""
        values, made = codes[:, column], columns[column]
        is_smooth = made.is_continuous and not (values == GAP).any()
        target = made.place(values)[:, None] if made.is_ordered else _one_hot(values)
        sight = Sight.of(codes, columns, before, target)
        features = sight.for_line(codes)
        line, without = _lines(features, target)
        seen = np.concatenate([sight.for_trees(codes), features @ line], axis=1)
        if is_smooth:  # not for the forest: a prediction without a row leans away from that row
            values = (target - without)[:, 0]
        forest = Forest.grow(
            seen if before else seen[:, :0],
            values,
            made.is_ordered,
            _min_leaf(len(values), is_smooth, made.is_ordered),
            child_seed(seed, column) % TREE_SEEDS,
        )
        return cls(column, sight, line, is_smooth, forest)

    def __call__(self, codes: np.ndarray, u: np.ndarray, column: Column) -> np.ndarray:
        """Return T(u | codes), the codes of the column for rows (n, d), given noise u, (n,)."""
        predicted = self.sight.for_line(codes) @ self.line
        seen = np.concatenate([self.sight.for_trees(codes), predicted], axis=1)
        drawn = self.forest.draw(seen, u, self.is_smooth)
        return column.code(predicted[:, 0] + drawn) if self.is_smooth else drawn


def _min_leaf(n: int, is_smooth: bool, is_ordered: bool) -> int:
    """Return the minimum number of n rows in a leaf."""
    if is_smooth:
        return math.ceil(SMOOTH_LEAF * math.sqrt(n))
    return MIN_LEAF if is_ordered else max(MIN_LEAF, math.ceil(WORD_LEAF * math.sqrt(n)))


def _one_hot(words: np.ndarray) -> np.ndarray:
    """Return a column of zeros and ones for each of the most frequent words, (n, T)."""
    numbers = most_frequent(words)
    n_words = min(int(numbers.max(initial=0)) + 1, MAX_ONE_HOT)
    ones: np.ndarray = (numbers[:, None] == np.arange(n_words)).astype(float)
    return ones


def _lines(features: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of lines, and their predictions: of each row by lines without it."""
    X, Y = torch.from_numpy(features), torch.from_numpy(targets)
    line, without = single_threaded(lambda: Ridge.of(X).fit(Y))
    return line.numpy(), without.numpy()
