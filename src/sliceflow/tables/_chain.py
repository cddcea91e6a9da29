"""A chain of transport maps, one for each column: the Knothe–Rosenblatt rearrangement.

    x_1 = T_1(u_1),   x_2 = T_2(u_2 | x_1),   x_3 = T_3(u_3 | x_1, x_2),   …

A particle starts as uniform noise u and moves along one axis after another. Along axis j it moves
to column j, by the map T_j from noise to the values of those rows of the data that are like it in
the columns before (`_link`). Each is a step of a flow along one direction, with a map for each leaf
of a forest instead of one for all particles. So whatever depends on other columns is seen: words,
gaps, values that only occur together, and sharp borders.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sliceflow.core._random import Draw, Key
from sliceflow.core._threads import parallel
from sliceflow.tables._columns import GAP, Column
from sliceflow.tables._link import Link


@dataclass(frozen=True, eq=False)
class Chain:
    """The maps of all columns, in order.

    Parameters
    ----------
    columns
        The columns of the table.
    links
        The maps.
    """

    columns: Sequence[Column]
    links: tuple[Link, ...]

    @classmethod
    def fit(
        cls,
        codes: np.ndarray,
        columns: Sequence[Column],
        order: Sequence[int],
        seed: int,
        keep_gaps: bool = False,
    ) -> Self:
        """Make the maps of rows of codes, (n, d), in this order of columns.

        Unless gaps are kept, the map of a column is made from the rows that have a value.
        """

        def link(place: int) -> Link:
            column, before = order[place], tuple(order[:place])
            there = slice(None) if keep_gaps else codes[:, column] != GAP
            return Link.fit(codes[there], columns, column, before, seed)

        return cls(columns, tuple(parallel(link, range(len(order)))))

    @property
    def order(self) -> tuple[int, ...]:
        """The columns in order."""
        return tuple(link.column for link in self.links)

    def draw(
        self, codes: np.ndarray, seed: int, first: int = 0, last: int | None = None
    ) -> np.ndarray:
        """Return rows of codes, (n, d), in which the columns of some places are drawn."""
        codes = codes.copy()
        for link in self.links[first:last]:
            u = Key(seed, Draw.TABLE, step=link.column).rng().uniform(len(codes))
            codes[:, link.column] = link(codes, u, self.columns[link.column])
        return codes
