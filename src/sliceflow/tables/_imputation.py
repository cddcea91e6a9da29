"""Filling gaps: each column is drawn again and again given all others (chained equations).

The map of a column is a link of a chain, given all other columns. It is made from the rows that
have a value there, so it is right if gaps depend only on what is not missing (van Buuren 2018). A
flow of whole rows that puts back what is observed would not do: complete rows are the wrong target
if values are missing by a rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sliceflow.core._random import Draw, Key, child_seed
from sliceflow.tables._columns import GAP, Column
from sliceflow.tables._link import Link

SWEEPS = 5
"""Number of times that all maps are made, each time from rows filled by the maps before."""

REDRAWN = 3
"""Number of times that gaps are drawn again for each completed table."""


@dataclass(frozen=True, eq=False)
class Imputation:
    """The maps of columns with gaps.

    Parameters
    ----------
    columns
        The columns of the table.
    starts
        The maps that fill gaps first, each given the complete columns and those filled before it.
    links
        The maps that draw gaps again, each given all other columns, in the same order.
    """

    columns: Sequence[Column]
    starts: tuple[Link, ...]
    links: tuple[Link, ...]

    @classmethod
    def fit(
        cls, codes: np.ndarray, columns: Sequence[Column], with_gaps: Sequence[int], seed: int
    ) -> Self:
        """Make the maps of the columns with gaps, from rows of codes, (n, d)."""
        gaps, filled = codes == GAP, codes.copy()
        counts = gaps.sum(axis=0)
        order = sorted(with_gaps, key=lambda i: int(counts[i]))
        known = [i for i in range(len(columns)) if i not in order]

        def link(i: int, others: Sequence[int], sweep: int) -> Link:
            made = Link.fit(filled[~gaps[:, i]], columns, i, tuple(others), child_seed(seed, sweep))
            _redraw(filled, gaps, made, columns[i], child_seed(seed, sweep))
            return made

        starts = tuple(link(i, [*known, *order[:k]], 0) for k, i in enumerate(order))
        for sweep in range(1, SWEEPS):
            links = tuple(link(i, _without(len(columns), i), sweep) for i in order)
        return cls(columns, starts, links)

    def draw(self, codes: np.ndarray, seed: int) -> np.ndarray:
        """Return rows of codes, (n, d), with their gaps filled."""
        gaps, filled = codes == GAP, codes.copy()
        for number, links in enumerate([self.starts, *[self.links] * REDRAWN]):
            for link in links:
                _redraw(filled, gaps, link, self.columns[link.column], child_seed(seed, number))
        return filled


def _without(d: int, i: int) -> list[int]:
    return [j for j in range(d) if j != i]


def _redraw(codes: np.ndarray, gaps: np.ndarray, link: Link, column: Column, seed: int) -> None:
    """Draw the gaps of one column anew, in place."""
    rows = np.flatnonzero(gaps[:, link.column])
    u = Key(seed, Draw.TABLE, step=link.column).rng().uniform(len(rows))
    codes[rows, link.column] = link(codes[rows], u, column)
