"""Arrays on disk and folders of images, in blocks: single rows are read, never everything."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from sliceflow.core._reading import FileError
from sliceflow.data._arrays import LABELS, NUMBERS, Header, check_finite, headers
from sliceflow.data._folders import Size, decoded, image_paths

BLOCK = 256
"""Number of neighbouring rows in a block, where rows can be read one by one."""


def even_sizes(n: int) -> np.ndarray:
    """Return the sizes of blocks of n rows."""
    return np.diff(np.minimum(np.arange(0, n + BLOCK, BLOCK), n))


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """Rows of a memory-mapped array, with their labels or columns of y."""

    path: Path
    x: np.ndarray
    y: np.ndarray | None = None
    by_row = True

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows in each block."""
        return even_sizes(len(self.x))

    def read(self, block: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows of a block."""
        rows = block * BLOCK + rows
        x, y = self.x[rows], None if self.y is None else self.y[rows]
        for part in (x, y):
            check_finite(self.path, part)
        return x, y

    def digest(self) -> str:
        """Return a checksum of shapes, and of some rows."""
        total = hashlib.sha256()
        rows = np.linspace(0, len(self.x) - 1, BLOCK).astype(int)
        for part in (self.x, self.y):
            if part is not None:
                total.update(repr((part.shape, part.dtype)).encode() + part[rows].tobytes())
        return total.hexdigest()


def mapped(path: Path, y: Sequence[str] = (), columns: Sequence[str] = ()) -> ArrayBlocks:
    """Return the memory-mapped arrays of an npy or npz file, by the names of y and x."""
    known = headers(path)
    rows = _named(path, known, columns, ("images", "x"))
    labels = _named(path, known, () if list(y) == ["label"] else y, ("labels",))
    if rows is None:
        raise ValueError(f"{path} holds {', '.join(known)}: pass the name of x as columns")
    _check_rows(path, rows, labels)
    mapped_labels = None if labels is None else _mapped_part(path, labels)
    return ArrayBlocks(path, _mapped_part(path, rows), mapped_labels)


def _named(
    path: Path, known: dict[str, Header], names: Sequence[str], defaults: Sequence[str]
) -> Header | None:
    """Return the array with a given name, or the first default that exists."""
    if len(names) > 1 or not set(names) <= set(known):
        raise ValueError(
            f"{path} holds {', '.join(known)}: pass one of these, not {', '.join(names)}"
        )
    return next((known[name] for name in names or defaults if name in known), None)


def _check_rows(path: Path, x: Header, y: Header | None) -> None:
    """Refuse x that is not rows of numbers, and y with another number of rows."""
    x.check(path, NUMBERS)
    if len(x.shape) < 2 or 0 in x.shape:
        raise FileError(
            f"{path} has {x.name} of shape {x.shape}: save rows, (n, d), or images, (n, C, h, w)"
        )
    if y is None:
        return
    y.check(path, LABELS)
    if y.shape[:1] != x.shape[:1]:
        raise FileError(
            f"{path} has {y.name} of shape {y.shape} and {x.name} of shape {x.shape}: save "
            "equally many rows"
        )


def _mapped_part(path: Path, header: Header) -> np.ndarray:
    if header.start is None:
        raise ValueError(f"{path} is compressed: save it with numpy.savez, which does not compress")
    return np.memmap(path, header.dtype, "r", header.start, header.shape, header.order)


@dataclass(frozen=True, eq=False)
class FolderBlocks:
    """Images of a folder, all of one size; its subfolders are classes."""

    folder: Path
    size: Size | None = None
    by_row = True

    @cached_property
    def _files(self) -> tuple[list[Path], np.ndarray | None]:
        return image_paths(self.folder)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows in each block."""
        return even_sizes(len(self._files[0]))

    def read(self, block: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows of a block."""
        paths, names = self._files
        rows = block * BLOCK + rows
        images = decoded([paths[row] for row in rows], self.size)
        return images, None if names is None else names[rows]

    def digest(self) -> str:
        """Return a checksum of names and sizes."""
        paths, _ = self._files
        files = [(str(path.relative_to(self.folder)), path.stat().st_size) for path in paths]
        return hashlib.sha256(repr((files, self.size)).encode()).hexdigest()
