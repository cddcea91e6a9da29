"""Arrays in npy and npz files. Their headers are checked before any data is read."""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from sliceflow.core._reading import FileError, check_file, reading
from sliceflow.data._images import Images

NUMBERS, LABELS = "buif", "buifUS"
"""NumPy kinds of numbers, and of labels."""


@dataclass(frozen=True)
class Header:
    """The header of an array in a file, its bytes, and their offset if they are not compressed."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    order: Literal["C", "F"]
    size: int
    start: int | None

    def check(self, path: Path, kinds: str) -> None:
        """Refuse an array of another kind, or an incomplete one."""
        if self.dtype.kind not in kinds:
            wanted = "numbers" if kinds == NUMBERS else "numbers or strings"
            raise FileError(f"{path} has {self.name} of dtype {self.dtype}: save {wanted}")
        if math.prod(self.shape) * self.dtype.itemsize != self.size:
            raise FileError(f"{path} has {self.name} that is incomplete: save it again")


def headers(path: Path) -> dict[str, Header]:
    """Return the headers of all arrays in an npz file; the array of an npy file is called x."""
    if path.suffix.lower() == ".npy":
        with reading(path, "npy file"), check_file(path).open("rb") as file:
            return {"x": _header(file, "x", path.stat().st_size, 0)}
    with reading(path, "npz file"), ZipFile(check_file(path)) as archive:
        parts = {part.filename.removesuffix(".npy"): part for part in archive.infolist()}
        return {name: _part(path, archive, name, part) for name, part in parts.items()}


def _part(path: Path, archive: ZipFile, name: str, part: ZipInfo) -> Header:
    """Read the header of an array in an npz file."""
    start = None
    if part.compress_type == ZIP_STORED:
        with path.open("rb") as file:
            file.seek(part.header_offset + 26)
            start = part.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))
    with archive.open(part) as stored:
        return _header(stored, name, part.file_size, start)


def _header(file: IO[bytes], name: str, size: int, start: int | None) -> Header:
    """Read the header of an array in a file of ``size`` bytes that begins at ``start``."""
    is_first = np.lib.format.read_magic(file) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(file)
    offset = file.tell()
    order: Literal["C", "F"] = "F" if is_fortran else "C"
    start = None if start is None else start + offset
    return Header(name, shape, dtype, order, size - offset, start)


def check_finite(path: Path, values: np.ndarray | None) -> None:
    """Refuse NaN and infinity."""
    if values is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
        raise FileError(f"{path} has NaN or infinity: fill in missing values, or drop their rows")


def load_npz(path: Path) -> Images:
    """Return the images of an npz file, and their labels if it has any."""
    known = headers(path)
    if "images" not in known:
        raise FileError(f"{path} holds {', '.join(known)}: call the array of images 'images'")
    _check_images(path, known)
    with reading(path, "npz file"), np.load(path) as file:  # does not load pickles by default
        images, labels = file["images"], file.get("labels")
    if images.ndim == 3:
        images = images[:, None]
    elif images.shape[1] > 4 >= images.shape[3]:
        images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    if labels is None:
        return Images(images)
    check_finite(path, labels)
    labels = np.char.decode(labels) if labels.dtype.kind == "S" else labels
    names, numbers = np.unique(labels, return_inverse=True)
    return Images(images, numbers, tuple(map(str, names)))


def _check_images(path: Path, known: dict[str, Header]) -> None:
    """Refuse arrays that are not images, and labels that do not match them."""
    images, labels = known["images"], known.get("labels")
    if images.dtype != np.uint8 or len(images.shape) not in (3, 4):
        raise FileError(
            f"{path} has images of dtype {images.dtype} and shape {images.shape}: "
            "save bytes from 0 to 255, (n, C, h, w)"
        )
    images.check(path, NUMBERS)
    if 0 in images.shape:
        raise FileError(f"{path} has images of shape {images.shape}: save at least one")
    if labels is None:
        return
    labels.check(path, LABELS)
    if labels.shape != images.shape[:1]:
        raise FileError(
            f"{path} has labels of shape {labels.shape} for {images.shape[0]} images: save one for "
            "each"
        )
