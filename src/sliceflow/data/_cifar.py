"""CIFAR-10: the binary or the Python version, unpacked or as the original archive."""

import io
import pickle
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sliceflow.core._reading import check_file, reading
from sliceflow.data._download import Source
from sliceflow.data._images import Images

SOURCE = Source(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"
)
PARTS = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)


def read_binary(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels (n, 3072) and labels. The file holds a label and then the pixels per image."""
    rows = np.frombuffer(content, np.uint8).reshape(-1, 3073)
    return rows[:, 1:], rows[:, 0]


def read_python(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels (n, 3072) and labels of a pickled dictionary."""
    batch = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
    return batch[b"data"], np.array(batch[b"labels"])


class _ArraysOnly(pickle.Unpickler):
    """Loads only what arrays need: a pickle could otherwise call any function."""

    def find_class(self, module: str, name: str) -> Any:
        if (module.split(".")[0], name) in {
            ("numpy", "_reconstruct"),
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("_codecs", "encode"),
        }:
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        raise pickle.UnpicklingError(
            f"{module}.{name} does not belong in CIFAR-10: download it again"
        )


@dataclass(frozen=True)
class Version:
    """One of the formats in which CIFAR-10 is published."""

    folder: str
    archive: str
    suffix: str
    read: Callable[[bytes], tuple[np.ndarray, np.ndarray]]

    def load(self, split: str, folder: Path) -> Images | None:
        """Return a split, if this version is in the folder."""
        names = [f"{self.folder}/{part}{self.suffix}" for part in PARTS[split]]
        if all((folder / name).exists() for name in names):
            with reading(folder / self.folder, "copy of CIFAR-10"):
                return self._images([check_file(folder / name).read_bytes() for name in names])
        archive = folder / self.archive
        if not archive.exists():
            return None
        with reading(archive, "copy of CIFAR-10"), tarfile.open(check_file(archive)) as tar:
            streams = [tar.extractfile(name) for name in names]
            return self._images([stream.read() for stream in streams if stream])

    def _images(self, contents: list[bytes]) -> Images:
        pixels, labels = zip(*map(self.read, contents), strict=True)
        rows = np.concatenate(pixels).reshape(-1, 3, 32, 32)
        return Images(rows, np.concatenate(labels).astype(np.int64), CLASSES)


BINARY = Version("cifar-10-batches-bin", SOURCE.name, ".bin", read_binary)
PYTHON = Version("cifar-10-batches-py", "cifar-10-python.tar.gz", "", read_python)


def load_cifar10(split: str, folder: Path) -> Images:
    """Return a split, from the first version in the folder, or download it."""
    images = BINARY.load(split, folder) or PYTHON.load(split, folder)
    if images is None:
        SOURCE.fetch(folder)
        images = BINARY.load(split, folder)
        assert images is not None
    return images
