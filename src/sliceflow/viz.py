"""Pictures of samples: every one is a table of images, (rows, columns, C, h, w), of bytes."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sliceflow._atomic import replacing

GAP = 2
"""Pixels between images."""

FONT, PAD, LONGEST = 16, 12, 20
"""The size of names and the pixels around them, and how many characters are shown."""


def grid(pixels: np.ndarray, columns: int = 16) -> np.ndarray:
    """Return rows of the images (n, C, h, w); what is left of the last one is white."""
    return _rows(pixels, min(columns, len(pixels)))


def _rows(pixels: np.ndarray, columns: int) -> np.ndarray:
    rows = -(-len(pixels) // columns)
    filled = np.full((rows * columns, *pixels.shape[1:]), 255, np.uint8)
    filled[: len(pixels)] = pixels
    return filled.reshape(rows, columns, *pixels.shape[1:])


def class_rows(pixels: np.ndarray, labels: np.ndarray, columns: int = 16) -> np.ndarray:
    """Return one row for each class, of its first images: as many as all classes have."""
    rows = [pixels[labels == label][:columns] for label in np.unique(labels)]
    return np.stack([row[: min(map(len, rows))] for row in rows])


def named_rows(
    pixels: np.ndarray, labels: np.ndarray, columns: int = 16
) -> tuple[np.ndarray, list[str]]:
    """Return rows of all images, those of a class together, and names: the class of its first row.

    What is left of the last row of a class is white.
    """
    classes, counts = np.unique(labels, return_counts=True)
    columns = min(columns, counts.max())
    parts = [_rows(pixels[labels == label], columns) for label in classes]
    names: list[str] = []
    for label, part in zip(classes, parts, strict=True):
        names += [str(label), *[""] * (len(part) - 1)]
    return np.concatenate(parts), names


def evolution(frames: Sequence[np.ndarray], rows: int = 8) -> np.ndarray:
    """Return one row for each of the first images, from left to right in time."""
    return np.stack([frame[:rows] for frame in frames], axis=1)


def triptych(original: np.ndarray, mask: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return one row for each image: what is observed of it, its samples (n, k, …), itself.

    ``mask`` (C, h, w) is true where images are observed; the rest is shown grey.
    """
    occluded = np.where(mask, original, np.uint8(128))
    return np.concatenate([occluded[:, None], samples, original[:, None]], axis=1)


def neighbours(samples: np.ndarray, nearest: np.ndarray) -> np.ndarray:
    """Return one row for each sample, and after it its neighbours (n, k, C, h, w) in the data."""
    return np.concatenate([samples[:, None], nearest], axis=1)


def draw(table: np.ndarray, zoom: int = 1, names: Sequence[str] = ()) -> Image.Image:
    """Return a table of images as one picture, each of its pixels ``zoom`` pixels wide.

    Names of its rows, if there are any, stand to the left of them; long ones are cut.
    """
    rows, columns, channels, height, width = table.shape
    framed = np.full((rows, columns, channels, height + GAP, width + GAP), 255, np.uint8)
    framed[..., :height, :width] = table
    flat = framed.transpose(0, 3, 1, 4, 2).reshape(rows * (height + GAP), -1, channels)
    picture = Image.fromarray((flat[..., 0] if channels == 1 else flat)[:-GAP, :-GAP])
    size = (picture.width * zoom, picture.height * zoom)
    picture = picture.resize(size, Image.Resampling.NEAREST)
    return _with_names(picture, names, zoom * (height + GAP)) if names else picture


def _with_names(picture: Image.Image, names: Sequence[str], height: int) -> Image.Image:
    """Return a picture with a name to the left of each row, which is so many pixels high."""
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
    """Return as much of a name as there is room for, of what can be drawn."""
    name = "".join(c if c.isprintable() else " " for c in name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."


def save_gif(
    frames: Sequence[np.ndarray], path: str | Path, columns: int = 8, seconds: float = 4.0
) -> None:
    """Save images (n, C, h, w) as they were at several times, as a film that lasts so long."""
    save_film([draw(grid(frame, columns), zoom=2) for frame in frames], path, seconds)


def save_film(pictures: Sequence[Image.Image], path: str | Path, seconds: float = 4.0) -> None:
    """Save pictures as a film that lasts so long."""
    first, *rest = pictures
    pause = 1000 * seconds / len(pictures)
    save_picture(first, path, save_all=True, append_images=rest, duration=pause, loop=0)


def save_picture(picture: Image.Image, path: str | Path, **settings: Any) -> None:
    """Save a picture as the suffix says, whole or not at all."""
    kind = Image.registered_extensions()[Path(path).suffix.lower()]
    with replacing(Path(path)) as file:
        picture.save(file, kind, **settings)
