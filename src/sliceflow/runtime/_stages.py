"""The stages of a schedule, as a model file has them."""

from dataclasses import dataclass
from typing import Any, Self

Shape = tuple[int, ...]
Band = int | None


@dataclass(frozen=True)
class Stage:
    """Steps with directions of the same kind; `flow.schedules.Stage` has the meaning of each.

    ``at_level`` is the shape of x at the level of the stage.
    """

    steps: int
    at_level: Shape
    patch: int | None
    bands: tuple[Band, ...]
    shared: bool
    sizes: tuple[float, float]
    is_at_level: bool

    @classmethod
    def of(cls, row: dict[str, Any], shape: Shape) -> Self:
        """Return the stage of a row of the schedule, for x of this shape."""
        k, band, size = row["resolution"], row["band"], row["step_size"]
        at_level = shape
        if k is not None:
            smaller = min(shape[1:])
            at_level = (shape[0], *(round(side * k / smaller) for side in shape[1:]))
        return cls(
            row["steps"],
            at_level,
            row["patch"],
            tuple(band) if isinstance(band, list) else (band,),
            row["shared"],
            tuple(size) if isinstance(size, list) else (size, size),
            k is not None,
        )

    def size_of(self, step: int) -> float:
        """Return the part of the engine's step size that a step takes."""
        first, last = self.sizes
        return float(first * (last / first) ** (step / max(1, self.steps - 1)))
