"""MNIST and Fashion-MNIST: idx files, plain or gzipped."""

import gzip
from pathlib import Path

import numpy as np

from sliceflow.core._reading import check_file, reading
from sliceflow.data._download import Source
from sliceflow.data._images import Images

FILES = {"train": "train", "test": "t10k"}
PUBLISHERS = {
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist",
    "fashion-mnist": "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
}
DIGESTS = {
    ("mnist", "train-images-idx3-ubyte"): "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    ("mnist", "train-labels-idx1-ubyte"): "d53e105ee54ea40749a09fcbcd1e9432",
    ("mnist", "t10k-images-idx3-ubyte"): "9fb629c4189551a2d022fa330f9573f3",
    ("mnist", "t10k-labels-idx1-ubyte"): "ec29112dd5afa0611ce80d1b7f02629c",
    ("fashion-mnist", "train-images-idx3-ubyte"): "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    ("fashion-mnist", "train-labels-idx1-ubyte"): "25c81989df183df01b3e8a0aad5dffbe",
    ("fashion-mnist", "t10k-images-idx3-ubyte"): "bef4ecab320f06d8554ea6380940ec79",
    ("fashion-mnist", "t10k-labels-idx1-ubyte"): "bb300cfdad3c16e7a12a480ee83cd310",
}
CLASSES = {
    "mnist": tuple("0123456789"),
    "fashion-mnist": (
        *("t-shirt", "trousers", "pullover", "dress", "coat"),
        *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
    ),
}


def load_idx(name: str, split: str, folder: Path) -> Images:
    """Return a split of ``mnist`` or ``fashion-mnist``, from the subfolder of that name."""
    images, labels = (
        read_idx(_path(name, f"{FILES[split]}-{part}-ubyte", folder / name))
        for part in ("images-idx3", "labels-idx1")
    )
    return Images(images[:, None], labels.astype(np.int64), CLASSES[name])


def _path(name: str, file: str, folder: Path) -> Path:
    plain = folder / file
    source = Source(f"{PUBLISHERS[name]}/{file}.gz", DIGESTS[name, file])
    return plain if plain.exists() else source.fetch(folder)


def read_idx(path: Path) -> np.ndarray:
    """Return the bytes of an idx file, in the shape given by its header."""
    with reading(path, "idx file"):
        content = check_file(path).read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    ndim = content[3] if content[:3] == b"\0\0\x08" else 0
    shape = tuple(np.frombuffer(content, ">i4", ndim, offset=4)) if ndim else ()
    if not shape or len(content) != 4 + 4 * ndim + np.prod(shape):
        raise ValueError(
            f"{path} is not a complete idx file of bytes: delete it to download it again"
        )
    return np.frombuffer(content, np.uint8, offset=4 + 4 * ndim).reshape(shape)
