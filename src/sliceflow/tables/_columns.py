"""A column of a table: its distinct values in order. A row has the number of its value, its code.

Numbers, dates and words all become codes, and so do gaps, which are `GAP`. So nothing downstream
depends on units, outliers or types, and every value comes back as it was: zeros are zero, counts
are whole, and no value is beyond the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch

from sliceflow.codec._units import MAX_KURTOSIS, MAX_SKEWNESS

GAP = -1
"""The code of a missing value. It is below all others, and trees see it as such."""

MIN_DISTINCT, MAX_TIED = 0.5, 0.01
"""A column is continuous if at least this share of its values is distinct, and at most this share
is equal."""

MAX_DECIMALS = 9
"""Maximum number of decimals that are noticed."""


@dataclass(frozen=True, eq=False)
class Column:
    """The distinct values of a column.

    Parameters
    ----------
    name
        The name.
    dtype
        The dtype of the values: float64, int64, datetime64, timedelta64 or, for words, object.
    values
        The distinct values in order, (K,); times as whole numbers.
    is_ordered
        Whether the order of the values has a meaning.
    counts
        How often each value occurs, (K,).
    """

    name: str
    dtype: np.dtype
    values: np.ndarray
    is_ordered: bool
    counts: np.ndarray

    @classmethod
    def of(cls, name: str, values: np.ndarray, order: Sequence[Any] | None = None) -> Self:
        """Return the column of these values, without gaps; of words in this order, if any."""
        if values.dtype != object:
            distinct, counts = np.unique(_numbers(values), return_counts=True)
            return cls(name, values.dtype, distinct, True, counts)
        words = sorted(set(values.tolist()), key=str) if order is None else order
        if unknown := set(values.tolist()) - set(words):
            raise ValueError(f"{name} has {unknown.pop()!r}, which is not in {order}")
        number = {word: i for i, word in enumerate(words)}
        counts = np.bincount([number[word] for word in values.tolist()], minlength=len(words))
        return cls(name, values.dtype, as_objects(words), order is not None, counts)

    @property
    def kind(self) -> str:
        """What the values are, for a person."""
        if self.dtype == object:
            return "ordered words" if self.is_ordered else "words"
        kinds = {"i": "whole numbers", "f": "numbers", "M": "dates or times", "m": "durations"}
        return kinds[self.dtype.kind]

    @cached_property
    def is_continuous(self) -> bool:
        """Whether values between those of the data may be drawn."""
        n, ties = self.counts.sum(), self.counts.max()
        is_number = self.dtype != object and len(self.values) > 2
        return bool(is_number and len(self.values) >= MIN_DISTINCT * n and ties <= MAX_TIED * n + 2)

    @cached_property
    def places(self) -> np.ndarray:
        """Where each value is for a line or a tree, (K,): standardised, or as a normal score.

        Normal scores suit columns with skew, heavy tails or values that occur often. For others
        they would bend what is straight.
        """
        n = self.counts.sum()
        ranks = (np.cumsum(self.counts) - self.counts / 2).clip(0.25, n - 0.25) / n
        scores: np.ndarray = torch.special.ndtri(torch.from_numpy(ranks)).numpy()
        if not self.is_continuous:
            return scores
        values = self.values - np.average(self.values, weights=self.counts)
        values = values / np.sqrt(np.average(values**2, weights=self.counts))
        skewness, kurtosis = (np.average(values**k, weights=self.counts) for k in (3, 4))
        return values if abs(skewness) <= MAX_SKEWNESS and kurtosis <= MAX_KURTOSIS else scores

    @cached_property
    def _step(self) -> float:
        """The largest step of which the differences of all values are multiples; 0 if none."""
        if self.values.dtype.kind == "i":
            return float(np.gcd.reduce(np.diff(self.values)))
        for decimals in range(MAX_DECIMALS + 1):
            if np.array_equal(self.values.round(decimals), self.values):
                return float(10.0**-decimals)
        return 0.0

    def number(self, codes: np.ndarray) -> np.ndarray:
        """Return the values of codes as floats; times are whole numbers."""
        numbers: np.ndarray = np.interp(
            codes, np.arange(len(self.values)), self.values.astype(float)
        )
        return numbers

    def place(self, codes: np.ndarray) -> np.ndarray:
        """Return the places of codes."""
        places: np.ndarray = np.interp(codes, np.arange(len(self.values)), self.places)
        return places

    def code(self, places: np.ndarray) -> np.ndarray:
        """Return the codes of places: numbers between those of values of the data, too."""
        codes: np.ndarray = np.interp(places, self.places, np.arange(len(self.values)))
        return codes

    def as_values(self, given: Sequence[Any]) -> np.ndarray:
        """Return values that a user gives as an array of the column's dtype."""
        if self.dtype == object:
            return as_objects(given)
        try:
            values = np.array(given, self.dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.name} cannot be {given[0]!r}: {error}") from error
        if self.dtype.kind == "i" and (np.array(given, float) != values).any():
            raise ValueError(f"{self.name} is whole numbers: {given[0]} cannot be given")
        return values

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return the codes of values of the data, or of numbers between them, (n,)."""
        if self.dtype == object:
            return self._codes_of_words(values)
        values = _numbers(values)
        places = np.arange(len(self.values))
        between = np.interp(values.astype(float), self.values.astype(float), places)
        exact = np.searchsorted(self.values, values).clip(max=len(self.values) - 1)
        return np.where(self.values[exact] == values, exact, between)

    def _codes_of_words(self, values: np.ndarray) -> np.ndarray:
        known = {word: code for code, word in enumerate(self.values.tolist())}
        if unknown := [word for word in values.tolist() if word not in known]:
            listed = ", ".join(map(repr, self.values[:10]))
            more = "" if len(known) <= 10 else f" and {len(known) - 10:,} more"
            raise ValueError(
                f"{self.name} is never {unknown[0]!r} in the rows of the fit, but {listed}{more}"
            )
        return np.array([known[word] for word in values.tolist()], int)

    def decode(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of codes, (n,), and which are gaps."""
        place = codes.clip(min=0)
        below = place.astype(int)
        values, above = self.values[below], self.values[np.ceil(place).astype(int)]
        if self.is_continuous:
            values = _between(values, above, place - below, self._step)
        return values.view(self.dtype), codes == GAP


def _numbers(values: np.ndarray) -> np.ndarray:
    """Return numbers as they are, and times as whole numbers."""
    numbers: np.ndarray = values.view(np.int64) if values.dtype.kind in "Mm" else values
    return numbers


def _between(low: np.ndarray, high: np.ndarray, part: np.ndarray, step: float) -> np.ndarray:
    """Return values this part of the way from low to high, at multiples of the step."""
    if low.dtype.kind == "i":  # not as floats, which would lose digits beyond 2**53
        whole: np.ndarray = low + int(step) * np.rint(part * (high - low) / step).astype(np.int64)
        return whole
    values: np.ndarray = low + part * (high - low)
    if step:
        values = (np.rint(values / step) * step).round(MAX_DECIMALS)
    return values


def as_objects(words: Sequence[Any]) -> np.ndarray:
    """Return words as an array of objects: NumPy would turn a mixture into strings."""
    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array
