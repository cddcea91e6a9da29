"""The codec converts users' data to particles, and particles back to users' data.

    z = codec.encode(x, y)    rows of data to particles (D, M)
    x = codec.decode(z)       and back: the same kind of array, dtype and units

A particle is x and, below it, the coordinates of its condition. Columns of numbers are scaled to
mean 0 and standard deviation 1. Bytes become brightness between −1 and 1, and labels become one-hot
vectors. New samples start from their conditions:

    given = codec.given(n, y)
    z = codec.particles(given)
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from sliceflow.codec._checks import (
    are_labels,
    as_objects,
    check_columns,
    check_given_bytes,
    check_given_columns,
    check_given_labels,
    check_given_objects,
    check_given_rows,
    check_labels,
    check_length,
    check_mask,
    check_rows,
    check_training_columns,
    check_training_rows,
    column_names,
    numbered_names,
)
from sliceflow.codec._conditions import (
    Columns,
    Condition,
    Label,
    Observed,
    Summary,
    Unconditional,
)
from sliceflow.codec._kinds import Kind
from sliceflow.codec._regression import CANDIDATES, Candidate
from sliceflow.codec._residuals import Residuals
from sliceflow.codec._scaling import Scaling
from sliceflow.codec._support import Support
from sliceflow.codec._words import Words
from sliceflow.core._devices import cpu_by_default
from sliceflow.core._validation import check_number

Output = Literal["numpy", "torch"] | None
"""The kind of array to return; None for that of the data."""

LABEL_AMPLIFIER, NUMBER_AMPLIFIER = 10.0, 1.0
"""Default ξ. For numbers, ξ = 10 would hide x behind y, and x would follow single rows."""


@dataclass(frozen=True, eq=False)
class Codec:
    """Converts rows of x and y to particles (D, M), and particles to rows.

    Parameters
    ----------
    x, y
        The kind of array of x, and of y; None without y.
    condition
        How x and y are joined, and which coordinates are given.
    scaling
        The shift and scale of each coordinate.
    support
        The range of given numbers in the data.
    classes
        The labels that y may have, if it is labels.
    names
        The names of the columns of x, then of y; empty if they have none.
    residuals
        The regression of x on y, if particles are its residuals.
    words
        The words of y, if it has columns of words and of numbers.
    """

    x: Kind
    y: Kind | None
    condition: Condition
    scaling: Scaling
    support: Support
    classes: np.ndarray | None = None
    names: tuple[str, ...] = ()
    residuals: Residuals | None = None
    words: Words | None = None

    @classmethod
    @cpu_by_default()
    def fit(
        cls,
        x: Any,
        y: Any = None,
        *,
        y_type: str | None = None,
        amplifier: float | None = None,
        observed: Any = None,
    ) -> Self:
        """Return the codec of these data; `SlicedFlow` describes the parameters."""
        codec, _ = cls.fit_encode(x, y, y_type, amplifier, observed)
        return codec

    @classmethod
    @cpu_by_default()
    def fit_encode(
        cls,
        x: Any,
        y: Any,
        y_type: str | None,
        amplifier: float | None,
        observed: Any,
        candidates: tuple[Candidate, ...] = CANDIDATES,
        verbose: bool = False,
    ) -> tuple[Self, Tensor]:
        """Return the codec of these data, and them as particles: `fit` and `encode` in one pass.

        A table given numbers is encoded as residuals of a regression by these candidates. Without
        candidates or with an amplifier, it is encoded as in the paper. ``verbose`` announces the
        regression, which takes a while. `SlicedFlow` describes the other parameters.
        """
        rows, kind = check_training_rows(x), Kind.of(x)
        words = Words.of(y) if y_type is None and observed is None else None
        numbers = y if words is None else _expanded(words, y, len(rows))
        condition, given, classes = _choose_condition(
            kind.shape, len(rows), numbers, y_type, amplifier, observed
        )
        z = condition.join(rows.cpu().flatten(1).T, given)
        support = Support.of(z, condition.numbers(kind.shape))
        z = support.clip(z)
        scaling = Scaling.of(z, *_scaled(kind, condition))
        z, d = scaling.forward(z), math.prod(kind.shape)
        residuals = None
        if _is_regressed(kind, condition, amplifier) and candidates:
            if verbose:
                print("predicting x from y before the flow begins", file=sys.stderr, flush=True)
            residuals, z = Residuals.fit(z, d, candidates)
            condition = Summary(condition.l, d, residuals.n_summary)
        y_kind = None if y is None else Kind.of(y)
        names = _names(x, y, d)
        made = cls(kind, y_kind, condition, scaling, support, classes, names, residuals, words)
        return made, z

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one x: (d,) or (C, h, w)."""
        return self.x.shape

    @property
    def n_pixels(self) -> int:
        """The number of first coordinates of a particle that are bytes."""
        return math.prod(self.shape) if self.x.is_pixels else 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of a table, then of y; numbered if they have none."""
        return self.names or numbered_names(math.prod(self.shape), self.n_given)

    @property
    def n_coordinates(self) -> int:
        """The number of coordinates of a particle, D."""
        joined = len(self.scaling.shift)
        return joined if self.residuals is None else joined + self.residuals.n_added

    @property
    def n_given(self) -> int:
        """The number of columns of y, before words become several."""
        return self.condition.n_columns if self.words is None else len(self.words.columns)

    @property
    def needs_data(self) -> bool:
        """Whether sampling needs numbers or rows that resemble the data."""
        is_numbers = self.condition.n_columns > 0 and self.classes is None
        return is_numbers or self.condition.mask is not None

    def with_output(self, output: Output) -> Self:
        """Return a codec that decodes to this kind of array."""
        return replace(self, x=self.x.with_output(output))

    def encode(self, x: Any, y: Any = None) -> Tensor:
        """Return rows x and their labels or columns y as particles (D, n), in float32."""
        rows = self._checked(x)
        return self._encoded(self.condition.join(rows.flatten(1).T, self._joinable(y, len(rows))))

    def _encoded(self, z: Tensor) -> Tensor:
        """Return joined particles, in the units of the data, as the flow sees them, in float32."""
        z = self.scaling.forward(self.support.clip(z))
        return z if self.residuals is None else self.residuals.forward(z)

    def _decoded(self, z: Tensor) -> Tensor:
        """Return particles of the flow as joined particles, in the units of the data."""
        return self.scaling.inverse(z if self.residuals is None else self.residuals.inverse(z))

    def decode(self, z: Tensor, given: Tensor | None = None) -> Any:
        """Return x of particles (D, n), in the units and as the kind of array of the data.

        Observed coordinates come back exactly as they were ``given``.
        """
        x, _ = self.condition.split(self._decoded(z))
        mask = self.condition.mask
        if given is not None and mask is not None:
            x[mask] = given[mask]
        _check_finite(x, self.x.dtype)
        return self.x.restore(x.T)

    def decode_y(self, z: Tensor) -> Any:
        """Return the labels or columns of particles (D, n); None if they have none."""
        _, y = self.condition.split(self._decoded(z))
        if y is None or self.y is None:
            return None
        if self.words is not None:
            return self.words.collapse(y)
        if self.classes is None:
            return self.y.restore(y.T)
        labels = self.classes[y.numpy()].reshape(-1, *self.y.shape)
        return labels if self.y.device is None else torch.from_numpy(labels).to(self.y.device)

    def given(self, n: int, y: Any) -> Tensor:
        """Return the conditions of n samples, from one y for all or one for each.

        These are class numbers (n,), columns (l, n) or rows of x (d, n), in the units of the data.
        """
        if self.condition.mask is not None:
            given = self._given_rows(n, y)
            numbers = given[self.support.given]
        elif self.classes is not None:
            return check_given_labels(y, n, self.classes)
        elif self.condition.l:
            given = numbers = self._given_columns(n, y)
        elif y is None:
            return torch.empty(0, n)
        else:
            raise ValueError("the model is unconditional: fit(x, y) to sample with y")
        self.support.warn_beyond(numbers, self._coordinates)
        return given

    def _given_columns(self, n: int, y: Any) -> Tensor:
        """Return n columns of y, (l, n)."""
        l = self.n_given
        names = self.names[-l:]
        if self.words is None:
            return check_given_columns(y, n, l, names)
        return self.words.expand(check_given_objects(y, n, l, names))

    @property
    def _coordinates(self) -> Sequence[str]:
        """The name of each coordinate of joined particles of a table."""
        if self.words is None:
            return self.columns
        d = math.prod(self.shape)
        return [*self.columns[:d], *self.words.repeat(self.columns[d:])]

    def particles(self, given: Tensor) -> Tensor:
        """Return particles (D, n), in float32, with these conditions; the rest is arbitrary."""
        if self.condition.mask is None:
            x = torch.zeros(math.prod(self.shape), given.shape[-1], dtype=torch.float64)
            z = self.condition.join(x, given)
        else:
            z = given
        return self._encoded(z)

    def _checked(self, x: Any) -> Tensor:
        """Return rows of x on the CPU, if they are of the shape and kind of the data."""
        rows, kind = check_rows(x).cpu(), Kind.of(x)
        if kind.shape != self.shape or kind.is_pixels != self.x.is_pixels:
            raise ValueError(
                f"x has rows of shape {kind.shape} and {kind.dtype}, not of {self.shape} and "
                f"{self.x.dtype}: pass the kind of rows that the codec was fitted to"
            )
        return rows

    def _joinable(self, y: Any, n: int) -> Tensor | None:
        """Return y of n rows of data in the form that the condition joins to x."""
        if self.classes is not None:
            return check_given_labels(y, n, self.classes)
        if self.words is not None:
            return _expanded(self.words, y, n).T
        if self.condition.l:
            return check_columns(y, n)
        if y is not None:
            raise ValueError("the codec was fitted without y: leave it out")
        return None

    def _given_rows(self, n: int, y: Any) -> Tensor:
        """Return n rows of x, (d, n), whose observed coordinates are given."""
        assert self.condition.mask is not None
        mask = self.condition.mask.reshape(self.shape)
        rows = check_given_rows(y, n, mask, self.names)
        if self.x.is_pixels:
            check_given_bytes(rows, mask)
        return rows


def _choose_condition(
    shape: tuple[int, ...],
    n: int,
    y: Any,
    y_type: str | None,
    amplifier: float | None,
    observed: Any,
) -> tuple[Condition, Tensor | None, np.ndarray | None]:
    """Return the condition, y in the form that it joins to x, and the classes."""
    for name, value in (("amplifier", amplifier), ("y_type", y_type)):
        if value is not None and (y is None or observed is not None):
            raise ValueError(f"{name} is about y, but there is none: leave it out, or give y")
    if observed is not None:
        if y is not None:
            raise ValueError("observed and y are two conditions: give one of them")
        return Observed(check_mask(observed, shape)), None, None
    if y is None:
        return Unconditional(), None, None
    if not are_labels(y, y_type):
        columns = check_training_columns(y, n)
        return Columns(len(columns), _amplifier(amplifier, NUMBER_AMPLIFIER)), columns, None
    classes, codes = check_labels(y, n)
    return Label(len(classes), _amplifier(amplifier, LABEL_AMPLIFIER)), codes, classes


def _expanded(words: Words, y: Any, n: int) -> Tensor:
    """Return columns y of words and numbers, for n rows, as numbers, (n, l)."""
    rows = as_objects(y)
    check_length(rows.shape, n)
    return words.expand(rows).T


def _is_regressed(kind: Kind, condition: Condition, amplifier: float | None) -> bool:
    """Return whether x, of this kind, is a table given numbers, with no amplifier."""
    is_numbers = condition.n_columns > 0 and condition.n_groups == 1
    return is_numbers and len(kind.shape) == 1 and amplifier is None


def _amplifier(given: float | None, default: float) -> float:
    return check_number("amplifier", default if given is None else given, positive=False)


def _scaled(kind: Kind, condition: Condition) -> tuple[Tensor, Tensor]:
    """Return which coordinates of particles, (D,), are columns of numbers, and which are bytes."""
    d = math.prod(kind.shape)
    numbers = torch.zeros(d + condition.l, dtype=torch.bool)
    numbers[:d] = len(kind.shape) == 1
    numbers[condition.numbers(kind.shape)] = True
    pixels = torch.arange(len(numbers)) < (d if kind.is_pixels else 0)
    return numbers, pixels


def _check_finite(x: Tensor, dtype: torch.dtype) -> None:
    """Refuse samples that are NaN or infinite in this dtype; as bytes, that would go unseen."""
    largest = torch.finfo(dtype if dtype.is_floating_point else x.dtype).max
    if not (x.abs() <= largest).all():
        raise FloatingPointError(
            "the samples are not finite: the model is damaged, or its data too large for "
            f"{dtype}; fit it again, with smaller values"
        )


def _names(x: Any, y: Any, d: int) -> tuple[str, ...]:
    """Return the names of d columns of x and, after them, of y, if either has names."""
    l = 0 if y is None else math.prod(np.shape(y)[1:])
    names, given = column_names(x), column_names(y)
    if not names and not given:
        return ()
    numbered = numbered_names(d, l)
    return (names or numbered[:d]) + (given or numbered[d:])
