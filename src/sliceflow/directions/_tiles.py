"""Orthonormal directions: disjoint tiles at a random offset, one basis for all tiles of a step.

Moves along orthonormal directions do not disturb one another. So a step can move particles by the
whole displacement along each, and solves all of its one-dimensional problems at once.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from sliceflow.core._random import Random
from sliceflow.core._threads import single_threaded
from sliceflow.directions._operator import DenseRows, Operator, Projection, matmul, slices
from sliceflow.directions._sphere import uniform


class Basis(Protocol):
    """A distribution of orthonormal bases of the P coordinates of a tile."""

    def draw(self, rng: Random) -> Tensor:
        """Draw a basis: orthonormal rows, with shape (P, P)."""


def rotations(rng: Random, n: int, p: int) -> Tensor:
    """Draw n orthogonal matrices, (n, p, p), uniformly: Gaussian columns, made orthonormal."""
    g = torch.from_numpy(rng.normal((n, p, p), np.float64))
    q, r = single_threaded(lambda: torch.linalg.qr(g))
    bases: Tensor = q * r.diagonal(dim1=1, dim2=2).sign()[:, None]
    return bases


@dataclass(frozen=True)
class Rotation:
    """Uniformly distributed bases of p coordinates."""

    p: int

    def draw(self, rng: Random) -> Tensor:
        """Draw a basis: orthonormal rows, with shape (P, P)."""
        return rotations(rng, 1, self.p)[0]


@dataclass(frozen=True, eq=False)
class Bands:
    """Fixed axes, the rows of a (P, P) matrix, rotated at random within bands of neighbours.

    If axes are in order of frequency or of variance, a direction does not mix strong axes with weak
    ones, which they would hide. With bands of one axis, the axes themselves are the basis.
    """

    axes: Tensor
    band: int

    def draw(self, rng: Random) -> Tensor:
        """Draw a basis: orthonormal rows, with shape (P, P)."""
        if self.band == 1:
            return self.axes
        n_full, rest = divmod(len(self.axes), self.band)
        turns = [*rotations(rng, n_full, self.band), *rotations(rng, int(rest > 0), rest)]
        bands = (self.axes[rows] for rows in slices(len(self.axes), self.band))
        return torch.cat([turn @ band for turn, band in zip(turns, bands, strict=True)])


@dataclass(frozen=True, eq=False)
class AnyOf:
    """Several distributions of bases; each draw is from one of them, chosen at random."""

    choices: tuple[Basis, ...]

    def draw(self, rng: Random) -> Tensor:
        """Draw a basis: orthonormal rows, with shape (P, P)."""
        return self.choices[rng.integer(len(self.choices))].draw(rng)


def spectral_axes(z: Tensor, shape: tuple[int, ...], patch: int | None) -> Tensor:
    """Return the eigenvectors of the covariance of patches, as rows, by descending eigenvalue.

    ``z`` are particles (D, n) that begin with x of this shape, (C, h, w). Patches of all positions
    are put together. Without a patch size, all of x is one patch.
    """
    x = z[: math.prod(shape)]
    columns = [x] if patch is None else _patches(x.reshape(*shape, -1), *tile_sides(shape, patch))

    def eigenvectors() -> Tensor:
        n, total, square = 0, torch.zeros(()), torch.zeros(())
        for u in columns:
            n += u.shape[1]
            total, square = total + u.sum(dim=1), square + (u @ u.T).double()
        mean = total.double() / n
        axes: Tensor = torch.linalg.eigh(square / n - mean.outer(mean)).eigenvectors.T
        return axes.flip(0)

    return single_threaded(eigenvectors).cpu()


def _patches(x: Tensor, a: int, b: int) -> Iterator[Tensor]:
    """Yield all a×b patches of images (C, h, w, n), one row of them at a time: (C·a·b, …)."""
    channels, height, _, _ = x.shape
    for row in range(height - a + 1):
        patches = x[:, row : row + a].unfold(2, b, 1)  # channel, row, position, image, column
        yield patches.permute(0, 1, 4, 2, 3).reshape(channels * a * b, -1)


def tile_sides(shape: tuple[int, ...], patch: int) -> tuple[int, ...]:
    """Return the sides of a tile: those of the patch, but at most those of x."""
    return tuple(min(patch, side) for side in shape[-2:])


@dataclass(frozen=True, eq=False)
class Tiles:
    """Disjoint S×S tiles of images (C, h, w), at a random offset, all with one basis.

    Tiles that cross the border continue at the opposite side, so that all pixels are reached
    equally often. A tile is not wider or higher than x. A tile of a table is S columns drawn at
    random. Without a patch size there is one tile: all of x.

    Parameters
    ----------
    shape
        The shape of one x, (d,) or (C, h, w).
    patch
        S, the side of a tile.
    basis
        The distribution of the basis.
    shared
        Whether all tiles share one map for each direction of the basis, or each has its own.
    l, amplifier
        The number of condition coordinates, below those of x, and ξ. The part θ_y of each direction
        of the basis is uniform on their sphere, times ξ; θ_x has length one.
    """

    shape: tuple[int, ...]
    patch: int | None
    basis: Basis
    shared: bool = False
    l: int = 0
    amplifier: float = 1.0

    def draw(self, rng: Random, like: Tensor) -> Operator:
        """Draw the directions of a step, of the dtype and on the device of ``like``."""
        theta = self.basis.draw(rng).to(like)
        if self.l:
            theta_y = self.amplifier * uniform(rng, len(theta), self.l, like)
            theta = torch.cat([theta, theta_y], dim=1)
        if self.patch is None:
            return Projection(DenseRows(theta))
        return Tiling(theta, self._coordinates(rng).to(like.device), self.shared)

    def _coordinates(self, rng: Random) -> Tensor:
        """Draw the offset; return the coordinates of each tile, with shape (tiles, P)."""
        assert self.patch is not None
        if len(self.shape) == 1:
            columns = torch.from_numpy(rng.permutation(self.shape[0]))
            return columns[: len(columns) - len(columns) % self.patch].reshape(-1, self.patch)
        channels, height, width = self.shape
        sides = zip((height, width), tile_sides(self.shape, self.patch), strict=True)
        row, column = (_cut(rng, side, s) for side, s in sides)
        row, column = row[:, None, None, :, None], column[None, :, None, None, :]
        channel = torch.arange(channels)[:, None, None]
        coordinates = (channel * height + row) * width + column
        return coordinates.flatten(2).flatten(0, 1)


def _cut(rng: Random, side: int, patch: int) -> Tensor:
    """Cut a side into whole patches, from a random pixel on: the pixels of each, (n, S)."""
    pixels = torch.arange(side - side % patch).reshape(-1, patch)
    first = rng.integer(side) if patch < side else 0
    return (pixels + first) % side


@dataclass(frozen=True, eq=False)
class TileBlock:
    """Some tiles with directions θ = [θ_x, ξ θ_y], (P, P + l), at these ``coordinates``, (n, P).

    If tiles share their maps, the values along a direction are those of all tiles, one after the
    other: (P, n M). Otherwise each tile has its own directions: (n P, M).
    """

    theta: Tensor
    coordinates: Tensor
    shared: bool

    def __len__(self) -> int:
        return len(self.theta) if self.shared else self.coordinates.numel()

    def project(self, u: Tensor) -> Tensor:
        """Return A u."""
        theta_x, theta_y = self._parts
        z = matmul(theta_x, self._batch(u.index_select(0, self._order)))
        if (l := theta_y.shape[1]) > 0:
            z.view(len(z), len(theta_x), -1, u.shape[1]).add_((theta_y @ u[-l:])[:, None])
        return z.flatten(0, 1)

    def lift(self, v: Tensor, onto: Tensor, weight: float = 1.0) -> None:
        """Add Aᵀ v, times the weight, to ``onto``: to x only."""
        theta_x, _ = self._parts
        move = matmul(theta_x.T, self._batch(v))
        rows = move.view(self.coordinates.numel(), onto.shape[1])
        onto.index_add_(0, self._order, rows, alpha=weight)

    @cached_property  # used for every shard
    def _parts(self) -> tuple[Tensor, Tensor]:
        """θ_x, and ξ θ_y."""
        p = len(self.theta)
        return self.theta[:, :p], self.theta[:, p:]

    @cached_property
    def _order(self) -> Tensor:
        """The coordinates of all tiles: tile by tile or, with shared maps, place by place."""
        return (self.coordinates.T if self.shared else self.coordinates).flatten()

    def _batch(self, rows: Tensor) -> Tensor:
        """View rows as one matrix for each basis: (1, P, n M) if shared, else (n, P, M)."""
        return rows.view(1 if self.shared else len(self.coordinates), len(self.theta), -1)


@dataclass(frozen=True, eq=False)
class Tiling:
    """The directions of all tiles: θ, with shape (P, P + l), at ``coordinates``, (tiles, P)."""

    theta: Tensor
    coordinates: Tensor
    shared: bool
    is_disjoint = True

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.theta.nbytes + self.coordinates.nbytes

    def __len__(self) -> int:
        return self.coordinates.numel()

    def blocks(self, h: int) -> Iterator[TileBlock]:
        """Cut the tiles into blocks of about h directions; with shared maps, there is one block."""
        n = len(self.coordinates) if self.shared else max(1, h // len(self.theta))
        blocks = (self.coordinates[tiles] for tiles in slices(len(self.coordinates), n))
        return (TileBlock(self.theta, coordinates, self.shared) for coordinates in blocks)
