"""A forest sorts rows into leaves whose rows are alike in one column, given other columns.

    T(u) = F_q⁻¹(u),   q the values of the column in the leaf of a row

is the optimal transport map from uniform noise to the column, made from the leaf alone. A row uses
the leaf of one tree, drawn at random. So in all, values are drawn from the mean of the trees'
distributions (quantile regression forests, Meinshausen 2006).

scikit-learn grows the trees. Only arrays are kept, so a model needs no pickle.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

N_TREES = 20
"""Number of trees."""

MAX_CLASSES = 50
"""Number of most frequent words that trees tell apart; leaves hold all words."""

PART_TYPES = {
    **dict.fromkeys(("roots", "column", "left", "right", "first", "size"), np.int32),
    **dict.fromkeys(("cut", "values"), np.float32),
}
"""The types of a forest's arrays."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as arrays of nodes, and the values in each leaf.

    Parameters
    ----------
    roots
        The number of the first node of each tree, (k,).
    column, cut
        For each node, the column that it asks for, and the value up to which rows go left, (N,).
    left, right
        The numbers of its children; a leaf is its own child, (N,).
    first, size
        The leaf's part of the values, (N,).
    values
        The values of the rows of each leaf, in ascending order.
    """

    roots: np.ndarray
    column: np.ndarray
    cut: np.ndarray
    left: np.ndarray
    right: np.ndarray
    first: np.ndarray
    size: np.ndarray
    values: np.ndarray

    @classmethod
    def grow(
        cls, rows: np.ndarray, values: np.ndarray, is_ordered: bool, min_leaf: int, seed: int
    ) -> Self:
        """Grow trees that predict values, (n,), from rows, (n, d), with at least so many a leaf."""
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

        if not rows.shape[1] or len(rows) < 2 * min_leaf or (values == values[:1]).all():
            return cls._of([_Stump()], rows, values)
        kind = ExtraTreesRegressor if is_ordered else ExtraTreesClassifier
        trees = kind(N_TREES, min_samples_leaf=min_leaf, max_features=1.0, random_state=seed)
        target = values if is_ordered else most_frequent(values)
        grown = trees.fit(rows.astype(np.float32), target)
        return cls._of([tree.tree_ for tree in grown.estimators_], rows, values)

    @classmethod
    def _of(cls, trees: list[Any], rows: np.ndarray, values: np.ndarray) -> Self:
        """Return these trees with the values of rows in their leaves."""
        sizes = np.array([tree.node_count for tree in trees])
        roots = np.cumsum(sizes) - sizes
        itself = np.arange(sizes.sum())
        column = np.concatenate([tree.feature for tree in trees])
        is_leaf = column < 0
        left, right = (
            np.where(is_leaf, itself, np.repeat(roots, sizes) + np.concatenate(children))
            for children in ([t.children_left for t in trees], [t.children_right for t in trees])
        )
        cut = _rounded_down(np.concatenate([tree.threshold for tree in trees]))
        empty = np.zeros(len(itself), int)
        forest = cls(roots, np.where(is_leaf, 0, column), cut, left, right, empty, empty, values)
        leaves = np.concatenate([forest._leaves(rows, np.full(len(rows), r)) for r in roots])
        size = np.bincount(leaves, minlength=len(column))
        values = np.tile(values, len(roots))
        values = values[np.lexsort((values, leaves))]
        return replace(forest, first=np.cumsum(size) - size, size=size, values=values)._compact()

    def _compact(self) -> Self:
        """Return the forest in types that take little space."""
        values = {f.name: getattr(self, f.name).astype(PART_TYPES[f.name]) for f in fields(self)}
        return type(self)(**values)

    def draw(self, rows: np.ndarray, u: np.ndarray, is_smooth: bool) -> np.ndarray:
        """Return a value for each of n rows, (n, d), given uniform noise u, (n,).

        The noise chooses the tree, and what is left of it the place in the leaf. A smooth map has
        straight lines between the values of a leaf.
        """
        tree, place = np.divmod(u * len(self.roots), 1)
        leaf = self._leaves(rows, self.roots[tree.astype(int)])
        first, size = self.first[leaf], self.size[leaf]
        if not is_smooth:
            found: np.ndarray = self.values[first + (place * size).astype(int)]
            return found
        part, number = np.modf(place * (size - 1))
        i = first + number.astype(int)
        between: np.ndarray = (1 - part) * self.values[i] + part * self.values[i + (part > 0)]
        return between

    def _leaves(self, rows: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the leaf of each row, by the tree with this root."""
        each, rows = np.arange(len(rows)), rows.astype(np.float32)
        while True:
            goes_left = rows[each, self.column[node]] <= self.cut[node] if rows.size else True
            following = np.where(goes_left, self.left[node], self.right[node])
            if (following == node).all():
                return node
            node = following


class _Stump:
    """A tree that is one leaf, with scikit-learn's names."""

    node_count = 1
    feature = children_left = children_right = np.array([-1])
    threshold = np.zeros(1)


def _rounded_down(cuts: np.ndarray) -> np.ndarray:
    """Return the largest 32-bit numbers up to these: they sort 32-bit numbers alike."""
    rounded = cuts.astype(np.float32)
    down: np.ndarray = np.where(rounded > cuts, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    return down


def most_frequent(codes: np.ndarray) -> np.ndarray:
    """Return codes as numbers from 0 on, the most frequent ones first; rare ones share one."""
    _, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    number = np.argsort(np.argsort(-counts, kind="stable"))
    return number.clip(max=MAX_CLASSES)[places]
