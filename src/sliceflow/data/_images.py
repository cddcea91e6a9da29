"""Images of bytes, with optional labels."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np


@dataclass(frozen=True, eq=False)
class Images:
    """Pixels (n, C, h, w) from 0 to 255, and the class number (n,) of each image, or None."""

    pixels: np.ndarray
    labels: np.ndarray | None = None
    classes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, which: slice | np.ndarray) -> Self:
        labels = None if self.labels is None else self.labels[which]
        return replace(self, pixels=self.pixels[which], labels=labels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of one image, (C, h, w)."""
        _, channels, height, width = self.pixels.shape
        return channels, height, width

    def with_flips(self) -> Self:
        """Return these images, followed by their mirror images (left and right swapped)."""
        labels = None if self.labels is None else np.tile(self.labels, 2)
        return replace(
            self, pixels=np.concatenate([self.pixels, self.pixels[..., ::-1]]), labels=labels
        )
