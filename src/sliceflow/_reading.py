"""Reading what people have: a path may lead nowhere, and a file may be damaged."""

import difflib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class FileError(ValueError):
    """A file that is damaged, incomplete, or of another kind than it should be."""


def check_file(path: Path) -> Path:
    """Return the path if it is that of a file that can be read.

    Nothing is opened: a pipe would wait for a writer, and a device may never end.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(_missing(path)) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder: name a file")
    if not stat.S_ISREG(mode):
        raise FileError(f"{path} is a pipe, a socket or a device: name a regular file")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(f"{path} cannot be read: change its permissions, or name another")
    return path


def _missing(path: Path) -> str:
    """Return what is wrong with a path that does not exist."""
    if path.is_symlink():
        return f"{path} is a link to {os.readlink(path)}, which does not exist: delete the link"
    hint = near(path.name, names_beside(path), 0.8) or ": check the path"
    return f"{path}: No such file or directory{hint}"


def names_beside(path: Path) -> list[str]:
    """Return the names in the folder of a path, if it can be read."""
    try:
        return os.listdir(path.parent)
    except OSError:
        return []


def near(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a question for the name that was meant, if one is near: 1 is the same."""
    found = difflib.get_close_matches(name, list(names), n=1, cutoff=cutoff)
    return f": do you mean {found[0]}?" if found else ""


@contextmanager
def reading(name: object, kind: str) -> Iterator[None]:
    """Turn whatever a damaged file makes its reader raise into one error that names the file."""
    try:
        yield
    except (FileError, FileNotFoundError, IsADirectoryError, PermissionError, MemoryError):
        raise  # they say what is wrong
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk or of permissions, not of what the file holds
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileError(f"{name} is not a complete {kind} ({why}): replace or remove it") from error
