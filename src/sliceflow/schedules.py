"""A schedule is rows: which directions, for how many steps, one stage after the other."""

from dataclasses import dataclass

from sliceflow._validation import check_flag, check_integer, check_optional_integer


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
        rotated at random within bands of so many neighbours. By default they are random.
    shared
        For the fast engine: all patches share one map for each direction.
    """

    steps: int
    resolution: int | None = None
    patch: int | None = None
    band: int | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        check_integer("steps", self.steps, 1)
        check_optional_integer("resolution", self.resolution, 1)
        check_optional_integer("patch", self.patch, 1)
        check_optional_integer("band", self.band, 1)
        check_flag("shared", self.shared)
        if self.patch is not None and self.resolution is None:
            raise ValueError(f"{self} has a patch but no level: give its resolution too")


def pyramid(shape: tuple[int, ...], steps: int = 20) -> tuple[Stage, ...]:
    """Return a schedule for square images (C, n, n), from coarse to fine.

    Levels up to 7×7 are moved as a whole. Above, patches go from large to small, so that what a
    large one leaves at its borders is mended by the next. The finest level has ``steps`` a stage;
    coarser ones have more, since there they cost little, but for the first few, which need little.
    """
    _, n, width = shape
    if n != width:
        raise ValueError(f"images of {n}×{width} are not square: pad them, or use Stage(steps)")
    levels = [*range(1, min(n, 8)), *(k for k in (8, 12, 16, 24, 32, 48, 64, 96) if k < n)]
    return tuple(
        Stage(round(steps * min(n / k, k)), k, patch)
        for k in (*levels, n)
        for patch in ((k,) if k < 8 else (7, 5, 3))
    )
