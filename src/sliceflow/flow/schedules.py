"""A schedule is rows: which directions, for how many steps, one stage after the other."""

import math
from dataclasses import dataclass, replace

from sliceflow.core._validation import check_flag, check_integer, check_optional_integer
from sliceflow.directions._pyramid import level_shape

Band = int | None


@dataclass(frozen=True)
class Stage:
    """Steps with directions of all of x or, at a ``resolution`` k, of patches of the k×k level.

    Parameters
    ----------
    steps
        How many.
    resolution
        k, the side of the level; without it, x itself.
    patch
        The side of a patch. If it is not given, or not smaller than the level, the patch is the
        level. For the fast engine, a patch of a narrow level is as narrow, and one of a table is
        so many columns, drawn for each step.
    band
        For the fast engine: directions are eigenvectors of the covariance of the data's patches,
        rotated at random within bands of so many neighbours. By default, None, they are random.
        If several are given, each step takes one of them.
    shared
        For the fast engine: all patches share one map for each direction.
    """

    steps: int
    resolution: int | None = None
    patch: int | None = None
    band: Band | tuple[Band, ...] = None
    shared: bool = False

    def __post_init__(self) -> None:
        check_integer("steps", self.steps, 1)
        check_optional_integer("resolution", self.resolution, 1)
        check_optional_integer("patch", self.patch, 1)
        for band in self.band if isinstance(self.band, tuple) else (self.band,):
            check_optional_integer("band", band, 1)
        check_flag("shared", self.shared)
        if None not in (self.patch, self.band) and self.resolution is None:
            raise ValueError(f"{self} has a band but no level: give its resolution too")


@dataclass(frozen=True)
class Preset:
    """How many steps a pyramid has for each patch of a level: smaller levels cost less.

    Attributes
    ----------
    whole
        For levels up to 7×7. Each is one patch, if the image is not long and narrow.
    coarse
        For larger ones up to half the size of the image.
    fine
        For those above, and for the image itself.
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
TABLE = {"quick": 40, "standard": 100, "best": 400}
"""For the fast engine: images, and how many steps for tables."""

PRESETS = tuple(GREY)

MAX_BASIS_PIXELS, MAX_BASIS_COLUMNS = 300, 1000
"""Values that one basis may turn, in images and in tables: drawing it takes their cube."""

PATCH_SIDE, PATCH_COLUMNS = 7, 256
"""The patch of a level or table that is larger: its side, or how many columns it has."""

COARSE_PATCHES, FINE_PATCHES, LAST_PATCHES = (7, 5, 3), (5, 3), (5, 4, 3, 2)
"""Sides of patches, from large to small: what one leaves at its borders is mended by the next."""


def by_name(preset: str, shape: tuple[int, ...]) -> tuple[Stage, ...]:
    """Return the schedule of a preset for a table (d,) or for images (C, h, w)."""
    if len(shape) == 3:
        return pyramid(shape, preset)
    return (Stage(TABLE[preset], patch=PATCH_COLUMNS if shape[0] > MAX_BASIS_COLUMNS else None),)


def scaled(schedule: tuple[Stage, ...], effort: float) -> tuple[Stage, ...]:
    """Return stages with so many times the steps."""
    return tuple(replace(stage, steps=max(1, round(effort * stage.steps))) for stage in schedule)


def pyramid(shape: tuple[int, ...], preset: str | Preset = "standard") -> tuple[Stage, ...]:
    """Return a schedule for images (C, h, w), from coarse to fine.

    Grey images, drawings on an even ground, are moved along random directions, and those of
    colour, photographs, along the data's own axes: a random direction mixes frequencies, and the
    strong ones hide that fine detail is far from Gaussian. Other steps mix the two.
    """
    is_grey, n = shape[0] == 1, min(shape[1:])
    steps = preset if isinstance(preset, Preset) else (GREY if is_grey else COLOUR)[preset]
    coarse, fine = (None, (1, None)) if is_grey else ((1, 3, None), 1)
    coarse_levels = [k for k in _levels(n) if k <= n / 2]
    fine_levels = [k for k in _levels(n) if k > n / 2]
    return (
        *(Stage(steps.whole, k, _small_patch(shape, k), coarse) for k in range(1, min(n, 7) + 1)),
        *(Stage(steps.coarse, k, s, band=coarse) for k in coarse_levels for s in COARSE_PATCHES),
        *(Stage(steps.fine, k, s, band=fine) for k in fine_levels for s in FINE_PATCHES),
        *(Stage(steps.fine, n, s, band=fine) for s in LAST_PATCHES if n > 7),
    )


def _small_patch(shape: tuple[int, ...], k: int) -> int | None:
    """Return the patch of a small level: all of it, unless the image is long and narrow."""
    channels, height, width = shape
    n_pixels = math.prod(level_shape((channels, height, width), k))
    return None if n_pixels <= MAX_BASIS_PIXELS else PATCH_SIDE


def _levels(n: int) -> list[int]:
    """Return the sides of levels from 8×8 to below n×n, each about an eighth larger than the last.

    The flow has to invent what a level adds to the one before: the less, the better it does.
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
