"""Pictures of samples. Each is a table of images, (rows, columns, C, h, w), of bytes."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sliceflow.core._atomic import replacing

__all__ = [
    "class_rows",
    "draw",
    "evolution",
    "grid",
    "named_rows",
    "neighbours",
    "save_film",
    "save_gif",
    "save_picture",
    "sheet",
    "triptych",
    "zoom_of",
]

GAP = 2
"""Pixels between images."""

FONT, PAD, MAX_NAME = 16, 12, 20
"""Font size of row names, pixels around them, and maximum number of characters."""


def grid(pixels: np.ndarray, columns: int = 16) -> np.ndarray:
    """Arrange images (n, C, h, w) in rows; the rest of the last row is white."""
    return _rows(pixels, min(columns, len(pixels)))


def _rows(pixels: np.ndarray, columns: int) -> np.ndarray:
    rows = -(-len(pixels) // columns)
    filled = np.full((rows * columns, *pixels.shape[1:]), 255, np.uint8)
    filled[: len(pixels)] = pixels
    return filled.reshape(rows, columns, *pixels.shape[1:])


def class_rows(pixels: np.ndarray, labels: np.ndarray, columns: int = 16) -> np.ndarray:
    """Return one row for each class, all with the same number of images."""
    rows = [pixels[labels == label][:columns] for label in np.unique(labels)]
    return np.stack([row[: min(map(len, rows))] for row in rows])


def named_rows(
    pixels: np.ndarray, labels: np.ndarray, columns: int = 16
) -> tuple[np.ndarray, list[str]]:
    """Return all images in rows by class, and a name for each row: the class, or empty.

    Only the first row of a class is named. The rest of its last row is white.
    """
    classes, counts = np.unique(labels, return_counts=True)
    columns = min(columns, counts.max())
    parts = [_rows(pixels[labels == label], columns) for label in classes]
    names: list[str] = []
    for label, part in zip(classes, parts, strict=True):
        names += [str(label), *[""] * (len(part) - 1)]
    return np.concatenate(parts), names


def evolution(frames: Sequence[np.ndarray], rows: int = 8) -> np.ndarray:
    """Return one row for each of the first ``rows`` images, with time from left to right."""
    return np.stack([frame[:rows] for frame in frames], axis=1)


def triptych(original: np.ndarray, mask: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return one row for each image: its observed part, its samples (n, k, …), the original.

    ``mask`` (C, h, w) is true where images are observed; the rest is shown grey.
    """
    occluded = np.where(mask, original, np.uint8(128))
    return np.concatenate([occluded[:, None], samples, original[:, None]], axis=1)


def neighbours(samples: np.ndarray, nearest: np.ndarray) -> np.ndarray:
    """Return one row for each sample, followed by its neighbours (n, k, C, h, w) in the data."""
    return np.concatenate([samples[:, None], nearest], axis=1)


def draw(table: np.ndarray, zoom: int = 1, names: Sequence[str] = ()) -> Image.Image:
    """Return a table of images as one picture, enlarged by ``zoom``.

    ``names`` of the rows are written to their left; long ones are cut.
    """
    rows, columns, channels, height, width = table.shape
    framed = np.full((rows, columns, channels, height + GAP, width + GAP), 255, np.uint8)
    framed[..., :height, :width] = table
    flat = framed.transpose(0, 3, 1, 4, 2).reshape(rows * (height + GAP), -1, channels)
    picture = Image.fromarray((flat[..., 0] if channels == 1 else flat)[:-GAP, :-GAP])
    size = (picture.width * zoom, picture.height * zoom)
    picture = picture.resize(size, Image.Resampling.NEAREST)
    return _with_names(picture, names, zoom * (height + GAP)) if names else picture


def sheet(pixels: np.ndarray, labels: np.ndarray | None = None) -> Image.Image:
    """Return images as a square grid or, with several labels, as rows with their names."""
    columns, names = max(1, round(len(pixels) ** 0.5)), list[str]()
    if labels is None or len(np.unique(labels)) == 1:
        table = grid(pixels, columns)
    else:
        table, names = named_rows(pixels, labels, columns)
    return draw(table, zoom_of(pixels.shape), names)


def zoom_of(shape: tuple[int, ...]) -> int:
    """Return the factor by which small images are enlarged, so that they can be seen."""
    return max(1, 64 // shape[-1])


def _with_names(picture: Image.Image, names: Sequence[str], height: int) -> Image.Image:
    """Return a picture with a name to the left of each row of this height."""
    font = ImageFont.load_default(min(FONT, height))
    cut = [_cut(name) for name in names]
    margin = PAD + math.ceil(max(map(font.getlength, cut)))
    wide = Image.new(picture.mode, (margin + picture.width, picture.height), "white")
    wide.paste(picture, (margin, 0))
    pen = ImageDraw.Draw(wide)
    for row, name in enumerate(cut):
        middle = (row + 0.5) * height - GAP
        pen.text((margin - PAD / 2, middle), name, "black", font, anchor="rm")
    return wide


def _cut(name: str) -> str:
    """Return a name without unprintable characters, cut to the maximum length."""
    name = "".join(c if c.isprintable() else " " for c in name)
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 3]}..."


def save_gif(
    frames: Sequence[np.ndarray], path: str | Path, columns: int = 8, seconds: float = 4.0
) -> None:
    """Save images (n, C, h, w) at several times as an animation of this duration."""
    save_film([draw(grid(frame, columns), zoom=2) for frame in frames], path, seconds)


def save_film(pictures: Sequence[Image.Image], path: str | Path, seconds: float = 4.0) -> None:
    """Save pictures as an animation of this duration."""
    first, *rest = pictures
    pause = 1000 * seconds / len(pictures)
    save_picture(first, path, save_all=True, append_images=rest, duration=pause, loop=0)


def save_picture(picture: Image.Image, path: str | Path, **settings: Any) -> None:
    """Save a picture atomically, in the format of the suffix."""
    kind = Image.registered_extensions()[Path(path).suffix.lower()]
    with replacing(Path(path)) as file:
        picture.save(file, kind, **settings)
