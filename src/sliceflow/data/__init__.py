"""Data sets by name, and one's own: folders of images, npz files, and streams of more."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sliceflow.data.blocks import FolderBlocks, mapped
from sliceflow.data.cifar import load_cifar10
from sliceflow.data.files import data_folder
from sliceflow.data.folders import load_celeba, load_folder
from sliceflow.data.idx import load_idx
from sliceflow.data.images import Images, to_bytes
from sliceflow.data.tars import TarBlocks
from sliceflow.streams import Stream

__all__ = ["NAMES", "Images", "Stream", "data_folder", "load", "stream", "to_bytes"]

NAMES = ("mnist", "fashion-mnist", "cifar10", "celeba")


def load(
    name: str | Path,
    split: str = "train",
    folder: str | Path | None = None,
    size: tuple[int, int] | None = None,
) -> Images:
    """Return images by the name of their data set, or by the path of a folder or npz file.

    Parameters
    ----------
    name
        One of `NAMES`, or a path. A folder may have one folder for each class. An npz file holds
        ``images``, bytes (n, C, h, w), (n, h, w, C) or (n, h, w), and ``labels``, if there are any.
    split
        ``"train"`` or ``"test"`` of a data set.
    folder
        Where data sets are, and where those that are not there are put. By default the
        environment variable ``SLICEFLOW_DATA``, else ``~/.cache/sliceflow``.
    size
        Height and width to bring the images of a folder to. By default they stay as they are.
    """
    if split not in ("train", "test"):
        raise ValueError(f'split={split!r}: pass "train" or "test"')
    if size is not None and not Path(name).is_dir():
        raise ValueError(f"size={size} is for folders of images, and {name} is none: leave it out")
    where = data_folder(folder)
    if name in ("mnist", "fashion-mnist"):
        return load_idx(str(name), split, where)
    if name == "cifar10":
        return load_cifar10(split, where)
    if name == "celeba":
        return load_celeba(split, where)
    path = Path(name)
    if path.is_dir():
        return load_folder(path, size)
    if path.is_file() and path.suffix == ".npz":
        return _load_npz(path)
    raise FileNotFoundError(
        f"{name} is neither one of {', '.join(NAMES)} nor the path of a folder or an npz file"
    )


def stream(
    path: str | Path,
    given: Sequence[str] = (),
    columns: Sequence[str] = (),
    size: tuple[int, int] | None = None,
) -> Stream:
    """Return data that is read as it is needed, however much there is.

    Parameters
    ----------
    path
        A Parquet file, an npy file, an npz file that is not compressed, a tar file of images in the
        layout of WebDataset, or a folder: of Parquet files, of tar files, or of images.
    given, columns
        Of Parquet files, the columns that are y, and those that are x: by default all others. Of
        an npz file, the array that is y, by default ``labels``, and that which is x, by default
        ``images`` or ``x``. Folders of images, and tar files, have the labels that they have.
    size
        Height and width to bring encoded images to. By default they stay as they are.
    """
    path = Path(path)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    kinds = {kind: [f for f in files if f.suffix == kind] for kind in (".parquet", ".tar")}
    if kinds[".parquet"]:
        from sliceflow.data.parquet import ParquetBlocks

        return Stream(ParquetBlocks(kinds[".parquet"], given, columns, size))
    if kinds[".tar"]:
        return Stream(TarBlocks(kinds[".tar"], size))
    if path.is_dir():
        return Stream(FolderBlocks(path, size))
    if path.is_file() and path.suffix in (".npy", ".npz"):
        return Stream(mapped(path, given, columns))
    raise FileNotFoundError(
        f"{path} is neither a folder nor a Parquet, npy, npz or tar file: name one of these"
    )


def _load_npz(path: Path) -> Images:
    with np.load(path) as file:  # which reads no pickles
        if "images" not in file:
            raise ValueError(f"{path} holds {', '.join(file)}: name the array of images 'images'")
        images, labels = file["images"], file.get("labels")
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise ValueError(
            f"{path} has images of dtype {images.dtype} and shape {images.shape}: "
            "save bytes from 0 to 255, (n, C, h, w)"
        )
    if images.ndim == 3:
        images = images[:, None]
    elif images.shape[1] > 4 >= images.shape[3]:
        images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    if labels is None:
        return Images(images)
    names, numbers = np.unique(labels, return_inverse=True)
    return Images(images, numbers, tuple(map(str, names)))
