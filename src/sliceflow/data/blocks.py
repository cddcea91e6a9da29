"""Arrays on disk and folders of images, in blocks: read row by row, never as a whole."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import numpy as np

from sliceflow.data.folders import Size, decoded, image_paths

BLOCK = 256
"""Neighbouring rows that are drawn together, of what can be read row by row."""


def even_sizes(n: int) -> np.ndarray:
    """Return the sizes of blocks of n rows."""
    return np.diff(np.minimum(np.arange(0, n + BLOCK, BLOCK), n))


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """Rows of an array that is mapped into memory, and labels or columns beside it."""

    x: np.ndarray
    y: np.ndarray | None = None
    by_row = True

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many rows each block has."""
        return even_sizes(len(self.x))

    def read(self, block: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows of a block."""
        rows = block * BLOCK + rows
        return self.x[rows], None if self.y is None else self.y[rows]

    def digest(self) -> str:
        """Return a sum of shapes, and of some rows."""
        total = hashlib.sha256()
        rows = np.linspace(0, len(self.x) - 1, BLOCK).astype(int)
        for part in (self.x, self.y):
            if part is not None:
                total.update(repr((part.shape, part.dtype)).encode() + part[rows].tobytes())
        return total.hexdigest()


def mapped(path: Path, given: Sequence[str] = (), columns: Sequence[str] = ()) -> ArrayBlocks:
    """Return the array of an npy file, or those of an npz file, mapped into memory."""
    if path.suffix == ".npy":
        return ArrayBlocks(np.load(path, mmap_mode="r"))
    with ZipFile(path) as archive:
        parts = {Path(part.filename).stem: part for part in archive.infolist()}
    if any(part.compress_type != ZIP_STORED for part in parts.values()):
        raise ValueError(f"{path} is compressed: save it with numpy.savez, which does not")
    x = next((name for name in (*columns, "images", "x") if name in parts), None)
    y = next((name for name in (*given, "labels") if name in parts), None)
    if x is None:
        raise ValueError(f"{path} holds {', '.join(parts)}: name the array that is x in columns")
    arrays = {n: _mapped_part(path, parts[n].header_offset) for n in (x, y) if n is not None}
    return ArrayBlocks(arrays[x], None if y is None else arrays[y])


def _mapped_part(path: Path, offset: int) -> np.ndarray:
    """Return an array that is stored in a zip file, given where its part begins."""
    with path.open("rb") as file:
        file.seek(offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
        file.seek(offset + 30 + name + extra)
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, is_fortran, dtype = read(file)
        return np.memmap(path, dtype, "r", file.tell(), shape, "F" if is_fortran else "C")


@dataclass(frozen=True, eq=False)
class FolderBlocks:
    """Images of a folder, of one size, whose folders in it are classes."""

    folder: Path
    size: Size | None = None
    by_row = True

    @cached_property
    def _files(self) -> tuple[list[Path], np.ndarray | None]:
        return image_paths(self.folder)

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many rows each block has."""
        return even_sizes(len(self._files[0]))

    def read(self, block: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows of a block."""
        paths, names = self._files
        rows = block * BLOCK + rows
        images = decoded([paths[row] for row in rows], self.size)
        return images, None if names is None else names[rows]

    def digest(self) -> str:
        """Return a sum of names and sizes."""
        paths, _ = self._files
        told = [(str(path.relative_to(self.folder)), path.stat().st_size) for path in paths]
        return hashlib.sha256(repr((told, self.size)).encode()).hexdigest()
