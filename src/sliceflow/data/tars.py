"""Tar files of samples (the layout of WebDataset), in blocks of neighbours.

A sample is the files of one name: ``0001.png`` is its image, and ``0001.cls`` its class, as text.
Where each of them begins is looked up once; then they are read without the others.
"""

import hashlib
import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sliceflow.data.blocks import BLOCK, even_sizes
from sliceflow.data.folders import SUFFIXES, Size, decoded


class Sample(NamedTuple):
    """Where an image and its label are: the number of the tar file, offset and size of each."""

    tar: int
    image: tuple[int, int]
    label: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class TarBlocks:
    """Images in tar files, and labels beside them, if there are any."""

    paths: Sequence[Path]
    size: Size | None = None
    by_row = True

    @cached_property
    def _samples(self) -> list[Sample]:
        return [sample for number, path in enumerate(self.paths) for sample in _index(number, path)]

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many rows each block has."""
        return even_sizes(len(self._samples))

    def read(self, block: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows of a block."""
        samples = [self._samples[block * BLOCK + row] for row in rows]
        images = decoded([io.BytesIO(self._bytes(s.tar, *s.image)) for s in samples], self.size)
        labels = [self._bytes(s.tar, *s.label).decode() for s in samples if s.label]
        return images, np.array(labels) if labels else None

    def _bytes(self, tar: int, offset: int, size: int) -> bytes:
        with self.paths[tar].open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def digest(self) -> str:
        """Return a sum of names and sizes."""
        told = [(path.name, path.stat().st_size) for path in self.paths]
        return hashlib.sha256(repr((told, self.size)).encode()).hexdigest()


def _index(number: int, path: Path) -> list[Sample]:
    """Return the samples of a tar file, in their order."""
    images, labels = {}, {}
    with tarfile.open(path) as tar:
        for member in tar:
            name, dot, suffix = member.name.rpartition(".")
            place = (member.offset_data, member.size)
            if dot + suffix.lower() in SUFFIXES:
                images[name] = place
            elif suffix == "cls":
                labels[name] = place
    return [Sample(number, place, labels.get(name)) for name, place in images.items()]
