"""Directions as a linear operator A, with two methods: `project` and its adjoint `lift`.

A has a row for each direction, in the coordinates of the stage's level. It is processed in blocks
of rows, so that a step with any number of directions fits in memory.

Sums are made in a fixed order, so that the bits of a step do not depend on the number of threads.
A plain matrix product does not guarantee that: its bits may depend on its shape and, from an inner
dimension of about 256 on, on the number of threads among which MKL splits the sum. So all products
have the same shape (blocks), and short inner dimensions (panels).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import torch
from torch import Tensor

from sliceflow.core._random import Random

BLOCK_DIRECTIONS = 64
"""Number of directions in one matrix product."""

BLOCK_COLUMNS = 256
"""Number of columns in one matrix product of `matmul_by_columns`."""

PANEL = 128
"""Maximum inner dimension of one matrix product."""


def slices(length: int, size: int) -> Iterator[slice]:
    """Cut ``range(length)`` into slices of ``size``; the last one may be shorter."""
    return (slice(i, min(i + size, length)) for i in range(0, length, size))


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b for one matrix b or a batch of them, (n, …), summed panel by panel."""
    a = a.expand(*b.shape[:-2], *a.shape)
    if b.shape[-2] <= PANEL:
        return a @ b
    product = a[..., :PANEL] @ b[..., :PANEL, :]
    add = product.addmm_ if b.dim() == 2 else product.baddbmm_
    for panel in slices(b.shape[-2] - PANEL, PANEL):
        add(a[..., PANEL:][..., panel], b[..., PANEL:, :][..., panel, :])
    return product


def matmul_by_columns(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b for a matrix b, (n, M), by blocks of its columns.

    The last block is padded: the bits of a column do not depend on how many others there are.
    """
    product = b.new_empty(len(a), b.shape[1])
    for columns in slices(b.shape[1], BLOCK_COLUMNS):
        block = b[:, columns]
        n = block.shape[1]
        padded = torch.nn.functional.pad(block, (0, BLOCK_COLUMNS - n))
        product[:, columns] = matmul(a, padded)[:, :n]
    return product


class Block(Protocol):
    """Directions that are processed together: some rows of A."""

    def __len__(self) -> int:
        """Return the number of maps: one for each direction, if none are shared."""

    def project(self, u: Tensor) -> Tensor:
        """Return A u: the values along each direction."""

    def lift(self, v: Tensor, onto: Tensor, weight: float = 1.0) -> None:
        """Add Aᵀ v, times the weight, to ``onto``, in place."""


class Rows(Block, Protocol):
    """The matrix A, (H, D): one row for each direction, in the coordinates of the level."""

    @property
    def dimension(self) -> int:
        """D."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""

    def __getitem__(self, rows: slice) -> Self: ...


@dataclass(frozen=True, eq=False)
class DenseRows:
    """Directions that touch every coordinate, with shape (H, D)."""

    theta: Tensor

    @property
    def dimension(self) -> int:
        """D."""
        return self.theta.shape[1]

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.theta.nbytes

    def __len__(self) -> int:
        return len(self.theta)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.theta[rows])

    def project(self, u: Tensor) -> Tensor:
        """Return A u."""
        return matmul(self.theta, u)

    def lift(self, v: Tensor, onto: Tensor, weight: float = 1.0) -> None:
        """Add Aᵀ v, times the weight, to ``onto``."""
        onto.addmm_(self.theta.T, v, alpha=weight)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Directions that touch at most P of D coordinates: columns and their weights, both (H, P).

    Columns ascend along a row. The column of a zero weight is ignored.
    """

    columns: Tensor
    weights: Tensor
    dimension: int

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.columns.nbytes + self.weights.nbytes

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.columns[rows], self.weights[rows], self.dimension)

    def project(self, u: Tensor) -> Tensor:
        """Return A u."""
        return u.new_zeros(len(self), u.shape[1]).addmm_(self._matrix, u)

    def lift(self, v: Tensor, onto: Tensor, weight: float = 1.0) -> None:
        """Add Aᵀ v, times the weight, to ``onto``."""
        onto.addmm_(self._matrix.t(), v, alpha=weight)

    @cached_property  # used to project particles and data, and to lift
    def _matrix(self) -> Tensor:
        row, entry = self.weights.nonzero(as_tuple=True)
        return torch.sparse_coo_tensor(
            torch.stack([row, self.columns[row, entry]]),
            self.weights[row, entry],
            (len(self), self.dimension),
            is_coalesced=True,
            check_invariants=False,
        )


class Operator(Protocol):
    """The directions of a step, in blocks."""

    @property
    def is_disjoint(self) -> bool:
        """Whether no two blocks touch the same coordinate of x. Then each can move x directly."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""

    def __len__(self) -> int:
        """Return the number of directions."""

    def blocks(self, h: int) -> Iterable[Block]:
        """Cut A into blocks of about h directions."""


class Directions(Protocol):
    """A distribution of directions; each step of a stage draws from it."""

    def draw(self, rng: Random, like: Tensor) -> Operator:
        """Draw the directions of a step, of the dtype and on the device of ``like``."""


@dataclass(frozen=True, eq=False)
class Projection:
    """H directions of D coordinates, as the rows of one matrix."""

    rows: Rows
    is_disjoint = False

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.rows.nbytes

    def __len__(self) -> int:
        return len(self.rows)

    def blocks(self, h: int = BLOCK_DIRECTIONS) -> Iterator[Rows]:
        """Cut A into blocks of `BLOCK_DIRECTIONS` rows, whatever h is: always the same products."""
        return (self.rows[block] for block in slices(len(self), BLOCK_DIRECTIONS))

    def project(self, u: Tensor) -> Tensor:
        """Return z = A u: particles (D, M) to their values along each direction (H, M)."""
        return torch.cat([theta.project(u) for theta in self.blocks()])

    def lift(self, v: Tensor) -> Tensor:
        """Return Aᵀ v: displacements along each direction (H, M) to particles (D, M)."""
        u = v.new_zeros(self.rows.dimension, v.shape[1])
        for block in slices(len(self), BLOCK_DIRECTIONS):
            self.rows[block].lift(v[block], onto=u)
        return u
