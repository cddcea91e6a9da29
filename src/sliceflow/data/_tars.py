"""Tar files of samples, in the layout of WebDataset.

A sample is all files of one name: ``0001.png`` is its image, and ``0001.cls`` its class, as text.
The offsets of all files are looked up once, so that each can be read without the others.
"""

import hashlib
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sliceflow.core._reading import FileError, check_file, reading
from sliceflow.data._blocks import BLOCK, even_sizes
from sliceflow.data._folders import SUFFIXES, Encoded, Size, decoded


class Sample(NamedTuple):
    """Position of an image and its label: number of the tar file, offset and size of each."""

    name: str
    tar: int
    image: tuple[int, int]
    label: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class TarBlocks:
    """Images in tar files, with labels if there are any."""

    paths: Sequence[Path]
    size: Size | None = None
    by_row = True

    @cached_property
    def _samples(self) -> list[Sample]:
        found = [s for number, path in enumerate(self.paths) for s in _index(number, path)]
        unlabelled = [sample for sample in found if sample.label is None]
        if unlabelled and len(unlabelled) < len(found):
            raise FileError(f"{self._name(unlabelled[0])} has no label: add a .cls file with one")
        return found

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows in each block."""
        return even_sizes(len(self._samples))

    def read(self, block: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows of a block."""
        samples = [self._samples[block * BLOCK + row] for row in rows]
        files = [Encoded(self._name(s), self._bytes(s.tar, *s.image)) for s in samples]
        labels = [self._label(s) for s in samples if s.label]
        return decoded(files, self.size), np.array(labels) if labels else None

    def _name(self, sample: Sample) -> str:
        return f"{sample.name} in {self.paths[sample.tar]}"

    def _label(self, sample: Sample) -> str:
        assert sample.label is not None
        with reading(f"the label of {self._name(sample)}", "text in UTF-8"):
            return self._bytes(sample.tar, *sample.label).decode().strip()

    def _bytes(self, tar: int, offset: int, size: int) -> bytes:
        with self.paths[tar].open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def digest(self) -> str:
        """Return a checksum of names and sizes."""
        files = [(path.name, path.stat().st_size) for path in self.paths]
        return hashlib.sha256(repr((files, self.size)).encode()).hexdigest()


def _index(number: int, path: Path) -> list[Sample]:
    """Return the samples of a tar file, in order."""
    images, labels = {}, {}
    with reading(path, "plain tar file"), tarfile.open(check_file(path), "r:") as tar:
        for member in filter(tarfile.TarInfo.isfile, tar):
            name, dot, suffix = member.name.rpartition(".")
            position = (member.offset_data, member.size)
            if dot + suffix.lower() in SUFFIXES:
                images[name] = member.name, position
            elif suffix.lower() == "cls":
                labels[name] = position
    return [Sample(file, number, position, labels.get(n)) for n, (file, position) in images.items()]
