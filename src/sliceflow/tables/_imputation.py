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
"""Number of times that gaps are drawn for each completed table."""


@dataclass(frozen=True, eq=False)
class Imputation:
    """The maps of columns with gaps, each given all others.

    Parameters
    ----------
    columns
        The columns of the table.
    links
        The maps, in the order in which gaps are filled.
    """

    columns: Sequence[Column]
    links: tuple[Link, ...]

    @classmethod
    def fit(
        cls, codes: np.ndarray, columns: Sequence[Column], with_gaps: Sequence[int], seed: int
    ) -> Self:
        """Make the maps of the columns with gaps, from rows of codes, (n, d)."""
        gaps, links = codes == GAP, {}
        counts = gaps.sum(axis=0)
        order = sorted(with_gaps, key=lambda i: int(counts[i]))
        filled = _filled_at_random(codes, columns, seed)
        for sweep in range(SWEEPS):
            for i in order:
                others = tuple(j for j in range(len(columns)) if j != i)
                sweep_seed = child_seed(seed, sweep)
                links[i] = Link.fit(filled[~gaps[:, i]], columns, i, others, sweep_seed)
                _redraw(filled, gaps, links[i], columns[i], sweep_seed)
        return cls(columns, tuple(links.values()))

    def draw(self, codes: np.ndarray, seed: int) -> np.ndarray:
        """Return rows of codes, (n, d), with their gaps filled."""
        gaps, codes = codes == GAP, _filled_at_random(codes, self.columns, seed)
        for number in range(REDRAWN):
            for link in self.links:
                _redraw(codes, gaps, link, self.columns[link.column], child_seed(seed, number))
        return codes


def _filled_at_random(codes: np.ndarray, columns: Sequence[Column], seed: int) -> np.ndarray:
    """Return codes, (n, d), with gaps filled by values of their column, as often as these occur."""
    filled = codes.copy()
    for i, column in enumerate(columns):
        gaps = codes[:, i] == GAP
        u = Key(seed, Draw.TABLE, stage=1, step=i).rng().uniform(gaps.sum())
        filled[gaps, i] = np.searchsorted(
            np.cumsum(column.counts), u * column.counts.sum(), "right"
        )
    return filled


def _redraw(codes: np.ndarray, gaps: np.ndarray, link: Link, column: Column, seed: int) -> None:
    """Draw the gaps of one column anew, in place."""
    rows = np.flatnonzero(gaps[:, link.column])
    u = Key(seed, Draw.TABLE, step=link.column).rng().uniform(len(rows))
    codes[rows, link.column] = link(codes[rows], u, column)
