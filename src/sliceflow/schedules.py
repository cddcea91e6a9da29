"""A schedule is rows: which directions, for how many steps, one stage after the other."""

from dataclasses import dataclass

from sliceflow._validation import check_flag, check_integer, check_optional_integer

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
        The side of a patch. If it is not given or not smaller than k, the patch is the level.
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
        if self.patch is not None and self.resolution is None:
            raise ValueError(f"{self} has a patch but no level: give its resolution too")


@dataclass(frozen=True)
class Preset:
    """How many steps a pyramid has for each patch, by what the patch is.

    Levels up to 7×7 are one patch each; they cost next to nothing. Larger ones up to half the size
    of the image have patches from large to small, so that what a large one leaves at its borders
    is mended by the next. Then the image itself, where a step costs most, has the smallest.
    """

    whole: int
    middle: int
    full: int


GREY = {
    "quick": Preset(whole=60, middle=30, full=10),
    "standard": Preset(whole=300, middle=200, full=60),
    "best": Preset(whole=12_000, middle=8000, full=400),
}
COLOUR = {
    "quick": Preset(whole=60, middle=30, full=10),
    "standard": Preset(whole=300, middle=200, full=20),
    "best": Preset(whole=1000, middle=800, full=30),
}
"""For the fast engine. Steps at coarse levels help for long, at full size soon no more."""

PRESETS = tuple(GREY)

MIDDLE, FULL = (7, 5, 3), (5, 4, 3, 2)
"""Sides of patches."""

LEVELS = (8, 12, 16, 24, 32, 48, 64, 96, 128)


def pyramid(shape: tuple[int, ...], preset: str | Preset = "standard") -> tuple[Stage, ...]:
    """Return a schedule for images (C, h, w), from coarse to fine.

    Grey images, drawings on an even ground, are moved along random directions, and those of
    colour, photographs, along the data's own axes: a random direction mixes frequencies, and the
    strong ones hide that fine detail is far from Gaussian. Other steps mix the two.
    """
    is_grey, n = shape[0] == 1, min(shape[1:])
    steps = preset if isinstance(preset, Preset) else (GREY if is_grey else COLOUR)[preset]
    coarse, fine = (None, (1, None)) if is_grey else ((3, None), 1)
    levels = [k for k in LEVELS if k <= n / 2]
    return (
        *(Stage(steps.whole, k, band=coarse) for k in range(1, min(n, 7) + 1)),
        *(Stage(steps.middle, k, s, band=coarse) for k in levels for s in MIDDLE),
        *(Stage(steps.full, n, s, band=fine) for s in FULL if n > 7),
    )


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
