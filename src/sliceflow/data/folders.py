"""Folders of image files: any, and CelebA's aligned faces."""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image

from sliceflow.data.images import Images

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".bmp"}
CELEBA_SPLITS = {"train": range(1, 162_771), "test": range(182_638, 202_600)}
"""Ids of the publisher's partition; those between are for validation."""

Size = tuple[int, int]
"""Height and width."""


def load_folder(folder: Path, size: Size | None = None) -> Images:
    """Return all images of a folder, in the order of their names.

    Folders in it are classes. Images are brought to this size, else they must all have the same.
    """
    paths, names = image_paths(folder)
    if names is None:
        return Images(decoded(paths, size))
    classes, labels = np.unique(names, return_inverse=True)
    return Images(decoded(paths, size), labels, tuple(classes.tolist()))


def image_paths(folder: Path) -> tuple[list[Path], np.ndarray | None]:
    """Return the images of a folder, and the names of their classes, if each has one."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not paths:
        raise FileNotFoundError(f"{folder} has no images ({', '.join(sorted(SUFFIXES))})")
    names = [path.relative_to(folder).parts[0] for path in paths if path.parent != folder]
    return paths, np.array(names) if len(names) == len(paths) else None


def decoded(files: Sequence[Path | BinaryIO], size: Size | None) -> np.ndarray:
    """Return images as one array (n, C, h, w), in colour if one of them is."""
    return _stack(files, [_read(file, size) for file in files])


def load_celeba(split: str, folder: Path) -> Images:
    """Return the faces of a split, 64×64, from the images in ``celeba`` that have its ids.

    The middle of each, 140×140 of 178×218 pixels or the same part of other sizes, is kept.
    """
    ids = {int(path.stem): path for path in (folder / "celeba").rglob("*.jpg")}
    paths = [ids[number] for number in sorted(ids) if number in CELEBA_SPLITS[split]]
    if not paths:
        raise FileNotFoundError(
            f"no {split} images of CelebA (ids {CELEBA_SPLITS[split][0]} to "
            f"{CELEBA_SPLITS[split][-1]}) are in {folder / 'celeba'}: unpack img_align_celeba.zip "
            "there, from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"
        )
    return Images(_stack(paths, [_face(path) for path in paths]))


def _read(path: Path | BinaryIO, size: Size | None) -> np.ndarray:
    with Image.open(path) as file:
        image: Image.Image = file
        if image.mode.startswith("I;16"):  # 16 bits, of which the upper eight are kept
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        colour = image.convert("L" if image.mode in ("1", "L") else "RGB")
        return np.asarray(_resized(colour, size) if size else colour)


def _face(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        side = round(image.width * 140 / 178)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        middle = image.convert("RGB").crop((left, top, left + side, top + side))
        return np.asarray(_resized(middle, (64, 64)))


def _resized(image: Image.Image, size: Size) -> Image.Image:
    return image.resize(size[::-1], Image.Resampling.LANCZOS)


def _stack(files: Sequence[Path | BinaryIO], images: list[np.ndarray]) -> np.ndarray:
    """Return images (h, w) or (h, w, 3) as one array (n, C, h, w), in colour if one of them is."""
    if any(image.ndim == 3 for image in images):
        images = [image if image.ndim == 3 else np.stack([image] * 3, axis=2) for image in images]
    for file, image in zip(files, images, strict=True):
        if image.shape != images[0].shape:
            raise ValueError(
                f"{file} has shape {image.shape} and {files[0]} {images[0].shape}: "
                "give the size that all are to be brought to, or make them alike"
            )
    rows = np.stack(images)
    return rows[:, None] if rows.ndim == 3 else np.ascontiguousarray(rows.transpose(0, 3, 1, 2))
