"""Data sets by name, and one's own: folders of images, npz files, and streams of more."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sliceflow._reading import check_file, did_you_mean, sibling_names
from sliceflow.data.arrays import load_npz
from sliceflow.data.blocks import FolderBlocks, mapped
from sliceflow.data.cifar import load_cifar10
from sliceflow.data.files import data_folder
from sliceflow.data.folders import Size, load_celeba, load_folder
from sliceflow.data.idx import load_idx
from sliceflow.data.images import Images, to_bytes
from sliceflow.data.tars import TarBlocks
from sliceflow.streams import Blocks, Stream

__all__ = ["NAMES", "Images", "Stream", "data_folder", "load", "stream", "to_bytes"]

NAMES = ("mnist", "fashion-mnist", "cifar10", "celeba")

PUBLISHED: dict[str, Callable[[str, Path], Images]] = {
    "mnist": partial(load_idx, "mnist"),
    "fashionmnist": partial(load_idx, "fashion-mnist"),
    "cifar10": load_cifar10,
    "celeba": load_celeba,
}
"""What loads each of them, by their names without hyphens."""


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
    if not str(name):
        raise ValueError(f"the name is empty: pass one of {', '.join(NAMES)}, or a path")
    path, published = Path(name), _published(name)
    if size is not None and (published or (path.exists() and not path.is_dir())):
        raise ValueError(f"size={size} is for folders of images, and {name} is none: leave it out")
    if published:
        return published(split, data_folder(folder))
    if path.is_dir():
        return load_folder(path, size)
    if path.suffix.lower() == ".npz":
        return load_npz(path)
    raise _unknown(name)


def _published(name: str | Path) -> Callable[[str, Path], Images] | None:
    """Return what loads a data set of this name, however it is spelt, unless it is a path."""
    plain = re.sub("[-_ ]", "", str(name).lower())
    if str(name) not in NAMES and Path(name).exists():
        return None
    return PUBLISHED.get(plain)


def _unknown(name: str | Path) -> Exception:
    """Return the error for what is no data set, and no path that can be read as one."""
    path = Path(name)
    if path.exists() or path.suffix or path.parent != Path():
        check_file(path)
    meant = did_you_mean(str(name).lower(), NAMES) or did_you_mean(
        str(name), sibling_names(path), 0.8
    )
    return FileNotFoundError(
        f"{name} is neither one of {', '.join(NAMES)} nor the path of a folder or an npz file"
        f"{meant}"
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
    found = Stream(_blocks(Path(path), given, columns, size))
    if len(found) == 0:
        raise ValueError(f"{path} has no rows: give some")
    return found


def _blocks(path: Path, given: Sequence[str], columns: Sequence[str], size: Size | None) -> Blocks:
    """Return the reader for a path."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    kinds = {kind: [f for f in files if f.suffix.lower() == kind] for kind in (".parquet", ".tar")}
    if kinds[".parquet"]:
        from sliceflow.data.parquet import ParquetBlocks

        return ParquetBlocks(kinds[".parquet"], given, columns, size)
    are_images = path.is_dir() or len(kinds[".tar"]) > 0
    if are_images and (columns or list(given) not in ([], ["label"])):
        raise ValueError(f"{path} has images and labels, no columns: name none but label")
    if kinds[".tar"]:
        return TarBlocks(kinds[".tar"], size)
    if path.is_dir():
        return FolderBlocks(path, size)
    if path.suffix.lower() in (".npy", ".npz"):
        return mapped(path, given, columns)
    if path.exists() or path.suffix:
        check_file(path)
    raise FileNotFoundError(
        f"{path} is neither a folder nor a Parquet, npy, npz or tar file: name one of these"
    )
