"""Data sets by name, and your own data: folders of images, npz files, and streams."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sliceflow.core._reading import check_file, did_you_mean, sibling_names
from sliceflow.data._arrays import load_npz
from sliceflow.data._blocks import FolderBlocks, mapped
from sliceflow.data._cifar import load_cifar10
from sliceflow.data._download import data_folder
from sliceflow.data._folders import Size, load_celeba, load_folder
from sliceflow.data._idx import load_idx
from sliceflow.data._images import Images
from sliceflow.data._streams import Blocks, Stream
from sliceflow.data._tars import TarBlocks

__all__ = ["NAMES", "Images", "Stream", "data_folder", "load", "stream"]

NAMES = ("mnist", "fashion-mnist", "cifar10", "celeba")

PUBLISHED: dict[str, Callable[[str, Path], Images]] = {
    "mnist": partial(load_idx, "mnist"),
    "fashionmnist": partial(load_idx, "fashion-mnist"),
    "cifar10": load_cifar10,
    "celeba": load_celeba,
}
"""The function that loads each data set, by its name without hyphens."""


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
        One of `NAMES`, or a path. A folder may have a subfolder for each class. An npz file holds
        ``images``, bytes (n, C, h, w), (n, h, w, C) or (n, h, w), and optionally ``labels``.
    split
        ``"train"`` or ``"test"`` of a data set.
    folder
        Folder for downloaded data sets. By default the environment variable ``SLICEFLOW_DATA``, or
        ``~/.cache/sliceflow``.
    size
        Height and width to resize the images of a folder to. By default they are not resized.
    """
    if split not in ("train", "test"):
        raise ValueError(f'split={split!r}: pass "train" or "test"')
    if not str(name):
        raise ValueError(f"the name is empty: pass one of {', '.join(NAMES)}, or a path")
    path, published = Path(name), _published(name)
    if size is not None and (published or (path.exists() and not path.is_dir())):
        raise ValueError(f"size={size} is for folders of images, which {name} is not: leave it out")
    if published:
        return published(split, data_folder(folder))
    if path.is_dir():
        return load_folder(path, size)
    if path.suffix.lower() == ".npz":
        return load_npz(path)
    raise _unknown(name)


def _published(name: str | Path) -> Callable[[str, Path], Images] | None:
    """Return the function that loads a data set, unless the name is a path of yours."""
    plain = re.sub("[-_ ]", "", str(name).lower())
    if str(name) not in NAMES and Path(name).exists():
        return None
    return PUBLISHED.get(plain)


def _unknown(name: str | Path) -> Exception:
    """Return the error for a name that is neither a data set nor a path of images."""
    path = Path(name)
    if path.exists() or path.suffix or path.parent != Path():
        check_file(path)
    hint = did_you_mean(str(name).lower(), NAMES)
    hint = hint or did_you_mean(str(name), sibling_names(path), 0.8)
    return FileNotFoundError(
        f"{name} is neither one of {', '.join(NAMES)} nor the path of a folder or an npz file{hint}"
    )


def stream(
    path: str | Path,
    y: str | Sequence[str] = (),
    columns: str | Sequence[str] = (),
    size: tuple[int, int] | None = None,
) -> Stream:
    """Return data that is read while fitting, so that it may be larger than memory.

    Parameters
    ----------
    path
        A Parquet file, an npy file, an uncompressed npz file, a tar file of images in the layout of
        WebDataset, or a folder of Parquet files, of tar files, or of images.
    y
        The name or names of what to condition on: columns of a Parquet file, by default none; or an
        array of an npz file, by default ``labels``, if there is one. Tar files and folders of
        images come with their labels.
    columns
        The name or names of x: columns of a Parquet file, by default all that are not in y; or an
        array of an npz file, by default ``images`` or ``x``.
    size
        Height and width to resize encoded images to. By default they are not resized.
    """
    y, columns = ([names] if isinstance(names, str) else names for names in (y, columns))
    found = Stream(_blocks(Path(path), y, columns, size))
    if len(found) == 0:
        raise ValueError(f"{path} has no rows: add some")
    return found


def _blocks(path: Path, y: Sequence[str], columns: Sequence[str], size: Size | None) -> Blocks:
    """Return the reader for a path."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    kinds = {kind: [f for f in files if f.suffix.lower() == kind] for kind in (".parquet", ".tar")}
    if kinds[".parquet"]:
        from sliceflow.data._parquet import ParquetBlocks

        return ParquetBlocks(kinds[".parquet"], y, columns, size)
    are_images = path.is_dir() or len(kinds[".tar"]) > 0
    if are_images and (columns or list(y) not in ([], ["label"])):
        raise ValueError(f"{path} has images and labels but no columns: pass only label as y")
    if kinds[".tar"]:
        return TarBlocks(kinds[".tar"], size)
    if path.is_dir():
        return FolderBlocks(path, size)
    if path.suffix.lower() in (".npy", ".npz"):
        return mapped(path, y, columns)
    if path.exists() or path.suffix:
        check_file(path)
    raise FileNotFoundError(
        f"{path} is neither a folder nor a Parquet, npy, npz or tar file: pass one of these"
    )
