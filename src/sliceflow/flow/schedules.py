"""Schedules: a sequence of stages, each with its directions and number of steps."""

import math
from dataclasses import dataclass, replace

from sliceflow.core._validation import (
    check_flag,
    check_integer,
    check_number,
    check_optional_integer,
)
from sliceflow.directions._pyramid import level_shape

__all__ = ["PRESETS", "Preset", "Stage", "by_name", "paper", "pyramid", "scaled"]

Band = int | None


@dataclass(frozen=True)
class Stage:
    """Steps with directions of all of x or, at a ``resolution`` k, of patches of the k×k level.

    Parameters
    ----------
    steps
        Number of steps.
    resolution
        k, the shorter side of the level. By default directions are of x itself.
    patch
        Side of a patch. By default, or if it is not smaller than the level, the patch is the whole
        level. For the fast engine, a patch is never wider or higher than the level, and a patch of
        a table is this number of columns, drawn anew for each step.
    band
        For the fast engine: directions are eigenvectors of the covariance of the data's patches,
        rotated at random within bands of this number of neighbours. By default, None, directions
        are random. If several numbers are given, each step draws one of them.
    shared
        For the fast engine: all patches share one map for each direction.
    step_size
        The part of the engine's step size that each step takes. If two numbers are given, they are
        those of the first and of the last step, and steps shrink by equal factors in between.
    """

    steps: int
    resolution: int | None = None
    patch: int | None = None
    band: Band | tuple[Band, ...] = None
    shared: bool = False
    step_size: float | tuple[float, float] = 1.0

    def __post_init__(self) -> None:
        check_integer("steps", self.steps, 1)
        if isinstance(self.step_size, tuple) and len(self.step_size) != 2:
            raise ValueError(f"step_size={self.step_size}: give one number, or the first and last")
        for size in self._sizes:
            check_number("step_size", size, positive=True, maximum=1)
        check_optional_integer("resolution", self.resolution, 1)
        check_optional_integer("patch", self.patch, 1)
        for band in self.band if isinstance(self.band, tuple) else (self.band,):
            check_optional_integer("band", band, 1)
        check_flag("shared", self.shared)
        if None not in (self.patch, self.band) and self.resolution is None:
            raise ValueError(f"{self} has a band but no level: give its resolution too")

    @property
    def _sizes(self) -> tuple[float, float]:
        size = self.step_size
        return size if isinstance(size, tuple) else (size, size)

    def size_of(self, step: int) -> float:
        """Return the part of the engine's step size that a step takes."""
        first, last = self._sizes
        return first * math.pow(last / first, step / max(1, self.steps - 1))


@dataclass(frozen=True)
class Preset:
    """Number of steps in each stage of a pyramid: smaller levels cost less, and have more.

    Attributes
    ----------
    whole
        For levels up to 7×7. Each is one patch, unless the image is long and narrow.
    coarse
        For larger levels, up to half the size of the image.
    fine
        For still larger levels, and for the image itself.
    """

    whole: int
    coarse: int
    fine: int


GREY = {
    "quick": Preset(whole=60, coarse=30, fine=10),
    "standard": Preset(whole=300, coarse=200, fine=60),
    "best": Preset(whole=2000, coarse=800, fine=600),
}
COLOUR = {
    "quick": Preset(whole=60, coarse=30, fine=10),
    "standard": Preset(whole=300, coarse=200, fine=20),
    "best": Preset(whole=1000, coarse=500, fine=30),
}
REFINING = {"quick": 5, "standard": 10, "best": 20}
TABLE = {"quick": 40, "standard": 100, "best": 400}
GIVEN_NUMBERS = {"quick": 200, "standard": 1000, "best": 3000}
"""Presets of the fast engine: for grey images, for colour images, and the numbers of steps for
images that start from blends, and for tables, without and with numbers as a condition."""

SHRINKING = (0.5, 0.05)
"""Step sizes for tables given numbers: the noise of each map adds up, unless steps shrink."""

PRESETS = tuple(GREY)

MAX_BASIS_PIXELS, MAX_BASIS_COLUMNS = 300, 1000
"""Maximum size of a basis, for images and for tables: drawing it takes the cube of its size."""

PATCH_SIDE, PATCH_COLUMNS = 7, 256
"""Patches of larger levels and tables: their side, and their number of columns."""

COARSE_PATCHES, FINE_PATCHES, LAST_PATCHES = (7, 5, 3), (5, 3), (5, 4, 3, 2)
"""Sides of patches, from large to small: each fixes what the one before left at its borders."""


def by_name(
    preset: str, shape: tuple[int, ...], given_numbers: bool = False, is_near: bool = False
) -> tuple[Stage, ...]:
    """Return the schedule of a preset for a table (d,) or for images (C, h, w).

    ``is_near`` says that images start from blends of images that were given the same.
    """
    if len(shape) == 3:
        return refining(shape, preset) if is_near else pyramid(shape, preset)
    if given_numbers:
        return (Stage(GIVEN_NUMBERS[preset], step_size=SHRINKING),)
    return (Stage(TABLE[preset], patch=PATCH_COLUMNS if shape[0] > MAX_BASIS_COLUMNS else None),)


def scaled(schedule: tuple[Stage, ...], effort: float) -> tuple[Stage, ...]:
    """Return stages with their numbers of steps multiplied by ``effort``."""
    return tuple(replace(stage, steps=max(1, round(effort * stage.steps))) for stage in schedule)


def pyramid(shape: tuple[int, ...], preset: str | Preset = "standard") -> tuple[Stage, ...]:
    """Return a schedule for images (C, h, w), from coarse to fine.

    Coarse levels of grey images (drawings on an even background) use random directions. Fine levels
    of colour images (photographs) use the principal axes of the data, because a random direction
    mixes frequencies, and strong ones hide that fine detail is far from Gaussian. All other levels
    use both.
    """
    is_grey, n = shape[0] == 1, min(shape[1:])
    steps = preset if isinstance(preset, Preset) else (GREY if is_grey else COLOUR)[preset]
    coarse, fine = (None, (1, None)) if is_grey else ((1, 3, None), 1)
    coarse_levels = [k for k in _levels(n) if k <= n / 2]
    return (
        *(Stage(steps.whole, k, _small_patch(shape, k), coarse) for k in range(1, min(n, 7) + 1)),
        *(Stage(steps.coarse, k, s, band=coarse) for k in coarse_levels for s in COARSE_PATCHES),
        *(_fine(n, steps.fine, fine) if n > 7 else ()),
    )


def refining(shape: tuple[int, ...], preset: str) -> tuple[Stage, ...]:
    """Return a schedule for images (C, h, w) that start from blends: the fine levels alone.

    What is coarse in a blend goes together, as in the images of its cluster. Steps at coarse levels
    would change it, by one coordinate at a time, and lose more than they gain.
    """
    return _fine(min(shape[1:]), REFINING[preset], band=1)


def _fine(n: int, steps: int, band: Band | tuple[Band, ...]) -> tuple[Stage, ...]:
    """Return the stages at the levels above half the size n of an image, and at n itself."""
    levels = [k for k in _levels(n) if k > n / 2]
    patches = [(k, s) for k in levels for s in FINE_PATCHES] + [(n, s) for s in LAST_PATCHES]
    return tuple(Stage(steps, k, s, band=band) for k, s in patches)


def _small_patch(shape: tuple[int, ...], k: int) -> int | None:
    """Return the patch of a small level: all of it, unless the image is long and narrow."""
    channels, height, width = shape
    n_pixels = math.prod(level_shape((channels, height, width), k))
    return None if n_pixels <= MAX_BASIS_PIXELS else PATCH_SIDE


def _levels(n: int) -> list[int]:
    """Return the sides of levels from 8×8 to below n×n, each about an eighth larger than the last.

    The flow has to create the detail that a level adds: the less there is, the better it does.
    """
    levels = [8]
    while levels[-1] < n:
        levels.append(levels[-1] + max(2, levels[-1] // 8))
    return levels[:-1]


_SMALL = {k: (k,) for k in range(1, 8)}
_ODD = (15, 13, 11, 9, 7, 5, 3)
_MIDDLE = {8: (8, 7, 5, 3), 12: (12, 11, 9, 7, 5, 3), 16: _ODD, 24: _ODD, 32: _ODD}
PAPER: dict[int, dict[int, tuple[int, ...]]] = {
    28: _SMALL | {7: (7, 5, 3), 11: (11, 9, 7, 5, 3), 14: (14, *_ODD[1:]), 21: _ODD, 28: _ODD},
    32: _SMALL | _MIDDLE,
    64: _SMALL | _MIDDLE | {64: _ODD},
}
"""Patches for each level of images of 28×28, 32×32 and 64×64 (Details of the schedules)."""


def paper(side: int, steps: int = 200) -> tuple[Stage, ...]:
    """Return the paper's schedule for images of 28×28, 32×32 or 64×64, for the exact engine.

    The number of steps of a stage is not in the paper; its code has 200 for 28×28, else 500.
    """
    if side not in PAPER:
        raise ValueError(f"the paper has no schedule for {side}×{side}: use pyramid(shape)")
    return tuple(Stage(steps, k, s) for k, patches in PAPER[side].items() for s in patches)
