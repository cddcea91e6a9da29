"""Engines: which directions a stage has, how values are mapped along them, and the step size.

`Exact` is the paper's: directions drawn independently, maps from sorted values. `Fast` is ours:
orthonormal directions in the coordinates of the level, maps from counts.
"""

import math
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from sliceflow.codec._conditions import Condition
from sliceflow.core._validation import (
    check_flag,
    check_integer,
    check_number,
    check_optional_integer,
)
from sliceflow.directions import (
    AnyOf,
    Bands,
    Basis,
    Directions,
    Joint,
    Local,
    Rotation,
    Sphere,
    Tiles,
    spectral_axes,
    tile_sides,
)
from sliceflow.directions._pyramid import FullSize, LanczosLevel, Level, level_shape
from sliceflow.flow._targets import DrawRows
from sliceflow.flow.schedules import Band, Stage
from sliceflow.transport import (
    CELLS,
    MAX_CELLS,
    HistogramTransport,
    KnotMap,
    SortedTransport,
    Values,
)

MAX_STEP_SIZE = 1e9
"""Maximum η. The default is at most d, and no x has that many coordinates."""

GROUPS = (1, 256)
"""Maximum numbers of columns that are rotated together with their part of a summary of y."""

AXES_ROWS = 1000
"""Number of data rows from which the spectral axes of a stage are estimated."""


class Transport(Protocol):
    """A way to estimate maps from values."""

    def displace_(
        self, z: Tensor, p: Values, q: Values, knots: int | None = None
    ) -> KnotMap | None:
        """Replace values z by T(z) − z, with the map T of each row from values p to values q.

        Return T with this number of knots, if it is given.
        """


class Engine(Protocol):
    """How the steps of a stage are done."""

    @property
    def entropy(self) -> float:
        """λ: each step adds noise of variance 2λη."""

    @property
    def fixed_directions(self) -> bool:
        """Whether the steps of a stage share their directions."""

    @property
    def n_cdf(self) -> int | None:
        """The number of particles from which F_p is estimated; None for all."""

    def level(self, stage: Stage, shape: tuple[int, ...], like: Tensor) -> Level:
        """Return the level whose coordinates the stage's directions refer to."""

    def transport(self, shape: tuple[int, ...], condition: Condition) -> Transport:
        """Return how maps are estimated, for x of this shape."""

    def axes(self, stage: Stage, shape: tuple[int, ...], draw: DrawRows) -> Tensor | None:
        """Return the stage's data-dependent axes, (P, P), if it has any."""

    def directions(
        self, stage: Stage, shape: tuple[int, ...], condition: Condition, axes: Tensor | None
    ) -> Directions:
        """Return the distribution of the stage's directions, for x of this shape."""

    def weight(self, stage: Stage, shape: tuple[int, ...]) -> float:
        """Return w, by which the displacement along each direction is multiplied."""

    def count_maps(
        self, stage: Stage, shape: tuple[int, ...], condition: Condition
    ) -> tuple[int, int | None]:
        """Return the number of maps of a step, and P if the stage has axes (P, P)."""


@dataclass(frozen=True)
class Exact:
    """The paper's engine: independent directions, maps from sorted values.

    Parameters
    ----------
    n_directions
        The number of directions of a step, H.
    step_size
        The step size η. By default d H / (H + d − 1), where d is the number of coordinates that
        the directions reach. This is the paper's η = d if H is much larger than d, and less
        otherwise, because moves along directions that are not orthogonal add up.
    entropy
        The λ of Liutkus et al.: each step adds noise of variance 2λη.
    fixed_directions
        Draw directions once for each stage instead of for each step (Liutkus et al.).
    n_cdf
        The number of particles, drawn anew for each step, from which F_p is estimated. By default
        all.
    memory
        Bytes for the values along directions, which are mapped in chunks that fit, but at least
        one direction at a time. docs/design.md describes the rest of a step's memory.
    """

    n_directions: int = 128
    step_size: float | None = None
    entropy: float = 0.0
    fixed_directions: bool = False
    n_cdf: int | None = None
    memory: int = 2**28

    def __post_init__(self) -> None:
        check_integer("n_directions", self.n_directions, 1)
        check_integer("memory", self.memory, 1)
        if self.step_size is not None:
            check_number("step_size", self.step_size, positive=True, maximum=MAX_STEP_SIZE)
        check_number("entropy", self.entropy, positive=False)
        check_flag("fixed_directions", self.fixed_directions)
        check_optional_integer("n_cdf", self.n_cdf, 2)

    def transport(self, shape: tuple[int, ...], condition: Condition) -> SortedTransport:
        """Return maps from sorted values."""
        return SortedTransport(self.memory)

    def level(self, stage: Stage, shape: tuple[int, ...], like: Tensor) -> Level:
        """Return the level whose patches are upsampled by Lanczos."""
        if stage.resolution is None:
            return FullSize()
        channels, height, width = shape
        return LanczosLevel.at((channels, height, width), stage.resolution, like)

    def axes(self, stage: Stage, shape: tuple[int, ...], draw: DrawRows) -> None:
        """Return None: the directions do not depend on the data."""

    def directions(
        self, stage: Stage, shape: tuple[int, ...], condition: Condition, axes: Tensor | None
    ) -> Directions:
        """Return uniform directions or, at a resolution, patches."""
        h, l, amplifier = self.n_directions, condition.l, condition.amplifier
        if stage.resolution is None:
            return Sphere(math.prod(shape), h, l, amplifier)
        channels, height, width = shape
        patch = stage.resolution if stage.patch is None else stage.patch
        return Local((channels, height, width), stage.resolution, patch, h, l, amplifier)

    def weight(self, stage: Stage, shape: tuple[int, ...]) -> float:
        """Return η/H."""
        default = default_step_size(math.prod(_at_level(stage, shape)), self.n_directions)
        return (default if self.step_size is None else self.step_size) / self.n_directions

    def count_maps(
        self, stage: Stage, shape: tuple[int, ...], condition: Condition
    ) -> tuple[int, None]:
        """Return H: there are no axes."""
        return self.n_directions, None


def default_step_size(d: int, h: int) -> float:
    """Return the η that brings a shifted Gaussian nearest to the target in one step, on average.

    An error e becomes e − η/H Σ θθᵀ e. With h directions uniform on the sphere of d dimensions, its
    mean square is smallest for this η. With η = d and H = d it would hardly shrink at all.
    """
    return d * h / (h + d - 1)


@dataclass(frozen=True)
class Fast:
    """Our engine: orthonormal directions in the coordinates of the level, maps from counts.

    Parameters
    ----------
    cells
        B, the number of cells on which the values along a direction are counted.
    step_size
        The fraction of the displacement by which particles move. 1, all of it, is right along
        orthonormal directions. Beyond 2 the particles would diverge.
    """

    cells: int = CELLS
    step_size: float = 1.0

    # Only `Exact` has these variants of the paper.
    entropy = 0.0
    fixed_directions = False
    n_cdf = None

    def __post_init__(self) -> None:
        check_integer("cells", self.cells, 8, MAX_CELLS)
        check_number("step_size", self.step_size, positive=True, maximum=2)

    def transport(self, shape: tuple[int, ...], condition: Condition) -> HistogramTransport:
        """Return maps from counts; noise is shrunk for colour images, and given a summary of y.

        It is not if ξ spreads labels: what is noise would be judged by how far they are apart.
        """
        is_colour = len(shape) == 3 and shape[0] > 1
        shrinks = condition.n_summary > 0 or (is_colour and condition.l == 0)
        return HistogramTransport(self.cells, shrinks)

    def level(self, stage: Stage, shape: tuple[int, ...], like: Tensor) -> Level:
        """Return the level in orthonormal coordinates."""
        if stage.resolution is None or stage.resolution == min(shape[1:]):
            return FullSize()
        channels, height, width = shape
        return LanczosLevel.orthonormal_at((channels, height, width), stage.resolution, like)

    def axes(self, stage: Stage, shape: tuple[int, ...], draw: DrawRows) -> Tensor | None:
        """Return the principal axes of the data's patches, if the stage has bands of them."""
        if stage.band is None:
            return None
        at_level, patch, _ = _tile(stage, shape)
        return spectral_axes(draw(AXES_ROWS), at_level, patch)

    def directions(
        self, stage: Stage, shape: tuple[int, ...], condition: Condition, axes: Tensor | None
    ) -> Directions:
        """Return tiles with the stage's basis; if the patch is the whole level, one tile.

        If directions see a summary of y, they are of x and of the summary together.
        """
        at_level, patch, p = _tile(stage, shape)
        if condition.n_summary:
            d, sizes = math.prod(shape), GROUPS if patch is None else (patch,)
            return Joint(d, condition.n_summary, d + condition.l, sizes)
        amplifier = condition.amplifier
        if stage.resolution is None and condition.l:  # the length of θ_y if θ were uniform
            amplifier *= (condition.l / p) ** 0.5
        bands = stage.band if isinstance(stage.band, tuple) else (stage.band,)
        bases = tuple(self._basis(band, p, axes) for band in bands)
        basis = AnyOf(bases) if len(bases) > 1 else bases[0]
        return Tiles(at_level, patch, basis, stage.shared, condition.l, amplifier)

    def _basis(self, band: Band, p: int, axes: Tensor | None) -> Basis:
        if band is None:
            return Rotation(p)
        assert axes is not None
        return Bands(axes, band)

    def count_maps(
        self, stage: Stage, shape: tuple[int, ...], condition: Condition
    ) -> tuple[int, int | None]:
        """Return the number of maps of a step, and P if the stage has axes (P, P)."""
        if condition.n_summary:
            return math.prod(shape) + condition.n_summary, None
        at_level, patch, p = _tile(stage, shape)
        sides = tile_sides(at_level, patch) if patch else at_level[-2:]
        tiles = math.prod(n // s for n, s in zip(at_level[-2:], sides, strict=True))
        return p if stage.shared else p * tiles, None if stage.band is None else p

    def weight(self, stage: Stage, shape: tuple[int, ...]) -> float:
        """Return the step size: orthonormal directions are not averaged."""
        return self.step_size


def _at_level(stage: Stage, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of x at the level of a stage."""
    if stage.resolution is None:
        return shape
    channels, height, width = shape
    return level_shape((channels, height, width), stage.resolution)


def _tile(stage: Stage, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int | None, int]:
    """Return the shape of x at the level, the side of a tile (None for all of x), and P."""
    at_level = _at_level(stage, shape)
    if stage.patch is None or stage.patch >= max(at_level[-2:]):
        return at_level, None, math.prod(at_level)
    p = math.prod(at_level[:-2]) * math.prod(tile_sides(at_level, stage.patch))
    return at_level, stage.patch, p
