"""The directions of a step, drawn again from the seed of the model; see `directions/`."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sliceflow.core._random import Random
from sliceflow.runtime._levels import lanczos
from sliceflow.runtime._stages import Band, Shape, Stage

Draw = Callable[[Sequence[Random]], Iterator["Directions"]]
"""Draws the directions of steps one after the other, given the random numbers of each."""

NUMBERS = 2**16
"""Steps share a draw of about so many numbers, since many small draws would take longer than the
products. More would not stay in the cache."""


class Directions(Protocol):
    """The directions A of a step."""

    def project(self, u: np.ndarray) -> np.ndarray:
        """Return A u."""

    def lift(self, v: np.ndarray, like: np.ndarray) -> np.ndarray:
        """Return Aᵀ v, of x only, with the shape of ``like``."""


@dataclass(frozen=True, eq=False)
class Dense:
    """Directions as rows of a matrix, (H, D)."""

    theta: np.ndarray

    def project(self, u: np.ndarray) -> np.ndarray:
        """Return A u."""
        z: np.ndarray = self.theta @ u
        return z

    def lift(self, v: np.ndarray, like: np.ndarray) -> np.ndarray:
        """Return Aᵀ v."""
        move: np.ndarray = self.theta.T @ v
        return move


@dataclass(frozen=True, eq=False)
class Tiles:
    """Tiles with directions θ = [θ_x, ξ θ_y], (P, P + l), at these coordinates, (n, P).

    Values are those of one tile after the other or, if tiles share their maps, of one direction
    after the other.
    """

    theta: np.ndarray
    coordinates: np.ndarray
    shared: bool

    def project(self, u: np.ndarray) -> np.ndarray:
        """Return A u."""
        n, p = self.coordinates.shape
        z: np.ndarray = self.theta[:, :p] @ u[self.coordinates]
        if l := self.theta.shape[1] - p:
            z += self.theta[:, p:] @ u[-l:]
        return z.swapaxes(0, 1).reshape(p, -1) if self.shared else z.reshape(n * p, -1)

    def lift(self, v: np.ndarray, like: np.ndarray) -> np.ndarray:
        """Return Aᵀ v."""
        (n, p), m = self.coordinates.shape, like.shape[1]
        v = v.reshape(p, n, m).swapaxes(0, 1) if self.shared else v.reshape(n, p, m)
        moves = np.zeros_like(like)
        moves[self.coordinates] = self.theta[:, :p].T @ v
        return moves


def fast(stage: Stage, l: int, amplifier: float, axes: np.ndarray | None) -> Draw:
    """Return how the fast engine draws directions: `directions._tiles`."""
    at_level = stage.at_level
    patch = None if stage.patch is None or stage.patch >= max(at_level[-2:]) else stage.patch
    sides = at_level if patch is None else [min(patch, side) for side in at_level[-2:]]
    p = math.prod(sides) if patch is None else math.prod([*at_level[:-2], *sides])
    if not stage.is_at_level and l:
        amplifier *= (l / p) ** 0.5

    def draw(rngs: Sequence[Random]) -> Iterator[Directions]:
        together = max(1, NUMBERS // p**2)
        for first in range(0, len(rngs), together):
            some = rngs[first : first + together]
            thetas = _bases(some, stage.bands, p, axes)
            if l:
                thetas_y = amplifier * uniform(some, p, l)
                thetas = np.concatenate([thetas, thetas_y], axis=2)
            if patch is None:
                yield from map(Dense, thetas)
                continue
            for theta, tiles in zip(thetas, _tiles(some, at_level, patch), strict=True):
                yield Tiles(theta, tiles, stage.shared)

    return draw


def _bases(
    rngs: Sequence[Random], bands: Sequence[Band], p: int, axes: np.ndarray | None
) -> np.ndarray:
    """Draw an orthonormal basis for each of k steps, (k, P, P), of one of the bands each."""
    chosen = [rng.integer(len(bands)) if len(bands) > 1 else 0 for rng in rngs]
    bases = np.empty((len(rngs), p, p))
    for number, band in enumerate(bands):
        own = [step for step, choice in enumerate(chosen) if choice == number]
        if own:
            bases[own] = _of_band([rngs[step] for step in own], band, p, axes)
    return bases


def _of_band(rngs: Sequence[Random], band: Band, p: int, axes: np.ndarray | None) -> np.ndarray:
    """Draw a basis for each of k steps: a rotation, or axes rotated within bands."""
    if band is None or axes is None:
        return rotations(rngs, 1, p)[:, 0]
    if band == 1:
        return axes
    n_full, rest = divmod(p, band)
    whole = rotations(rngs, n_full, band) @ axes[: n_full * band].reshape(n_full, band, p)
    parts = whole.reshape(len(rngs), -1, p), rotations(rngs, 1, rest)[:, 0] @ axes[p - rest :]
    return np.concatenate(parts, axis=1)


def rotations(rngs: Sequence[Random], n: int, p: int) -> np.ndarray:
    """Draw n orthogonal matrices for each of k steps, (k, n, p, p), uniformly."""
    numbers = type(rngs[0]).normals(rngs, (n, p, p), np.float64)
    q, r = np.linalg.qr(numbers)
    turns: np.ndarray = q * np.sign(np.diagonal(r, axis1=2, axis2=3))[:, :, None]
    return turns


def uniform(rngs: Sequence[Random], h: int, d: int) -> np.ndarray:
    """Draw h points uniformly on the unit sphere of d dimensions for each of k steps, (k, h, d)."""
    g = type(rngs[0]).normals(rngs, (h, d)).astype(np.float64)
    points: np.ndarray = g / np.maximum(np.linalg.norm(g, axis=2, keepdims=True), 1e-12)
    return points


def _tiles(rngs: Sequence[Random], shape: Shape, patch: int) -> np.ndarray:
    """Draw the offset of each of k steps; return the coordinates of each tile, (k, n, P)."""
    if len(shape) == 1:
        columns = np.stack([rng.permutation(shape[0]) for rng in rngs])
        return columns[:, : shape[0] - shape[0] % patch].reshape(len(rngs), -1, patch)
    channels, height, width = shape
    row, column = (_cut(rngs, side, min(patch, side)) for side in (height, width))
    channel = np.arange(channels)[:, None, None]
    rows: np.ndarray = (channel * height + row[:, :, None, None, :, None]) * width
    places: np.ndarray = rows + column[:, None, :, None, None, :]
    return places.reshape(len(rngs), row.shape[1] * column.shape[1], -1)


def _cut(rngs: Sequence[Random], side: int, patch: int) -> np.ndarray:
    """Cut a side into whole patches, from a random pixel on: the pixels of each, (k, n, S)."""
    firsts = [rng.integer(side) if patch < side else 0 for rng in rngs]
    pixels: np.ndarray = (np.arange(side - side % patch) + np.array(firsts)[:, None]) % side
    return pixels.reshape(len(rngs), -1, patch)


def exact(stage: Stage, shape: Shape, h: int, l: int, amplifier: float) -> Draw:
    """Return how the exact engine draws h directions: `directions._sphere` and `_local`."""
    d = math.prod(stage.at_level)

    def sphere(rng: Random) -> np.ndarray:
        theta: np.ndarray = uniform([rng], h, d + l)[0]
        theta[:, d:] *= amplifier
        return theta

    def local(rng: Random) -> np.ndarray:
        theta = _patches(rng, stage, shape, h)
        if not l:
            return theta
        theta_y = amplifier * uniform([rng], h, l)[0]
        both: np.ndarray = np.hstack([theta, theta_y]) / 2**0.5
        return both

    draw = local if stage.is_at_level else sphere
    return lambda rngs: (Dense(draw(rng)) for rng in rngs)


def _patches(rng: Random, stage: Stage, shape: Shape, h: int) -> np.ndarray:
    """Draw patches at random places of a level, of length one at full size: (h, d)."""
    channels, a, b = stage.at_level
    is_whole = stage.patch is None or stage.patch >= min(a, b)
    row, column = (_place(rng, side, h, None if is_whole else stage.patch) for side in (a, b))
    size = h, channels, row.shape[1], column.shape[1]
    values = uniform([rng], h, math.prod(size[1:])).reshape(size)
    theta = np.zeros((h, channels, a, b))
    is_inside = _inside(row, a)[:, None, :, None] & _inside(column, b)[:, None, None, :]
    i, c, y, x = np.nonzero(np.broadcast_to(is_inside, size))
    theta[i, c, row[i, y], column[i, x]] = values[i, c, y, x]
    gram_rows, gram_columns = (
        m.T @ m for m in (lanczos(n, k) for n, k in zip(shape[1:], (a, b), strict=True))
    )
    norm = np.sqrt((theta * (gram_rows @ theta @ gram_columns)).sum(axis=(1, 2, 3)))
    scaled: np.ndarray = theta.reshape(h, -1) / norm[:, None]
    return scaled


def _inside(index: np.ndarray, side: int) -> np.ndarray:
    return (index >= 0) & (index < side)


def _place(rng: Random, side: int, h: int, patch: int | None) -> np.ndarray:
    """Draw the rows or columns of patches, (h, S); some may be beyond the border."""
    if patch is None:
        return np.tile(np.arange(side), (h, 1))
    return (rng.integers(side, h) - patch // 2)[:, None] + np.arange(patch)
