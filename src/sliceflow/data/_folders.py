"""Folders of image files: your own, and CelebA's aligned faces."""

import io
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from sliceflow.core._reading import FileError, check_file, reading
from sliceflow.data._images import Images

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".bmp"}
CELEBA_SPLITS = {"train": range(1, 162_771), "test": range(182_638, 202_600)}
"""Ids of the official split; those in between are for validation."""

Size = tuple[int, int]
"""Height and width."""

MAX_PIXELS = 2**26
"""Maximum number of pixels of one image: a small file could decode to far more."""


@dataclass(frozen=True)
class Encoded:
    """The bytes of an image file inside another file, and its name there."""

    name: str
    data: bytes

    def __str__(self) -> str:
        return self.name


def load_folder(folder: Path, size: Size | None = None) -> Images:
    """Return all images of a folder, sorted by name.

    Subfolders are classes. Images are resized to ``size``; without it they must have equal sizes.
    """
    paths, names = image_paths(folder)
    if names is None:
        return Images(decoded(paths, size))
    classes, labels = np.unique(names, return_inverse=True)
    return Images(decoded(paths, size), labels, tuple(classes.tolist()))


def _check_size(size: Size) -> None:
    """Refuse a size that images cannot be resized to."""
    height, width = size
    if min(size) < 1 or height * width > MAX_PIXELS:
        raise ValueError(
            f"size={height}x{width}: pass a height and a width of 1 or more, and at most "
            f"{MAX_PIXELS:,} pixels"
        )


def image_paths(folder: Path) -> tuple[list[Path], np.ndarray | None]:
    """Return the images of a folder, and their class names if all are in subfolders."""
    paths = sorted(path for path in _files(folder) if path.suffix.lower() in SUFFIXES)
    if not paths:
        raise FileNotFoundError(f"{folder} has no images ({', '.join(sorted(SUFFIXES))})")
    names = [path.relative_to(folder).parts[0] for path in paths if path.parent != folder]
    return paths, np.array(names) if len(names) == len(paths) else None


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files in a folder and its subfolders, which all have to be readable."""

    def fail(error: OSError) -> None:
        raise error

    for parent, _, names in os.walk(folder, onerror=fail):
        yield from (Path(parent, name) for name in names)


def decoded(files: Sequence[Path | Encoded], size: Size | None) -> np.ndarray:
    """Return images as one array (n, C, h, w), in colour if any of them is."""
    if size is not None:
        _check_size(size)
    return _stack(files, [_read(file, size) for file in files])


def load_celeba(split: str, folder: Path) -> Images:
    """Return the faces of a split, 64×64, from images in the folder ``celeba``.

    The central 140×140 of 178×218 pixels are kept, or the same part of other sizes.
    """
    paths = (folder / "celeba").rglob("*.jpg")
    ids = {int(path.stem): path for path in paths if path.stem.isdecimal()}
    faces = [ids[number] for number in sorted(ids) if number in CELEBA_SPLITS[split]]
    if not faces:
        raise FileNotFoundError(
            f"no {split} images of CelebA (ids {CELEBA_SPLITS[split][0]} to "
            f"{CELEBA_SPLITS[split][-1]}) are in {folder / 'celeba'}: unpack img_align_celeba.zip "
            "there, from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"
        )
    return Images(_stack(faces, [_face(path) for path in faces]))


def read_image(file: Path | Encoded) -> Image.Image:
    """Return a grey or RGB image, rotated as its EXIF data says; of an animation, frame 1."""
    source = io.BytesIO(file.data) if isinstance(file, Encoded) else check_file(file)
    with reading(file, "image"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about metadata that is not used
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(source) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise Image.DecompressionBombError
                return _of_bytes(ImageOps.exif_transpose(image))
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise FileError(
                f"{file} has more than {MAX_PIXELS:,} pixels: make it smaller"
            ) from None


def _of_bytes(image: Image.Image) -> Image.Image:
    """Return a grey or RGB image of bytes, on white where it is transparent."""
    if image.mode.startswith("I"):  # 16 bits: keep the upper eight
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    mode = "L" if image.mode in ("1", "L", "LA") else "RGB"
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    return image.convert(mode)


def _read(file: Path | Encoded, size: Size | None) -> np.ndarray:
    image = read_image(file)
    return np.asarray(_resized(image, size) if size else image)


def _face(path: Path) -> np.ndarray:
    image = read_image(path).convert("RGB")
    side = round(image.width * 140 / 178)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return np.asarray(_resized(image.crop((left, top, left + side, top + side)), (64, 64)))


def _resized(image: Image.Image, size: Size) -> Image.Image:
    return image.resize(size[::-1], Image.Resampling.LANCZOS)


def _stack(files: Sequence[Path | Encoded], images: list[np.ndarray]) -> np.ndarray:
    """Return images (h, w) or (h, w, 3) as one array (n, C, h, w), in colour if any of them is."""
    if any(image.ndim == 3 for image in images):
        images = [image if image.ndim == 3 else np.stack([image] * 3, axis=2) for image in images]
    for file, image in zip(files, images, strict=True):
        if image.shape != images[0].shape:
            raise ValueError(
                f"{file} has shape {image.shape} and {files[0]} {images[0].shape}: "
                "pass a size to resize all images to, or make them equally large"
            )
    rows = np.stack(images)
    return rows[:, None] if rows.ndim == 3 else np.ascontiguousarray(rows.transpose(0, 3, 1, 2))
