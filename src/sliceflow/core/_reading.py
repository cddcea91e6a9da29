"""Reading users' files: a path may not exist, and a file may be damaged."""

import difflib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class FileError(ValueError):
    """A file that is damaged, incomplete, or of the wrong kind."""


class VersionError(FileError):
    """A file of a version that cannot be read."""


def check_file(path: Path) -> Path:
    """Return the path if it is a readable regular file.

    The file is not opened: a pipe would block until somebody writes, and a device may be endless.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(_missing(path)) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder: pass a file")
    if not stat.S_ISREG(mode):
        raise FileError(f"{path} is a pipe, a socket or a device: pass a regular file")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(
            f"{path} cannot be read: change its permissions, or pass another file"
        )
    return path


def _missing(path: Path) -> str:
    """Return the error message for a path that does not exist."""
    if path.is_symlink():
        return f"{path} is a link to {os.readlink(path)}, which does not exist: delete the link"
    hint = did_you_mean(path.name, sibling_names(path), 0.8) or ": check the path"
    return f"{path}: No such file or directory{hint}"


def sibling_names(path: Path) -> list[str]:
    """Return the names of all files in the folder of a path, if it can be read."""
    try:
        return os.listdir(path.parent)
    except OSError:
        return []


def did_you_mean(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a hint with the most similar name, if one is similar enough (1: identical)."""
    found = difflib.get_close_matches(name, list(names), n=1, cutoff=cutoff)
    return f": did you mean {found[0]}?" if found else ""


@contextmanager
def reading(name: object, kind: str) -> Iterator[None]:
    """Turn any exception that a damaged file causes into a `FileError` that names the file."""
    try:
        yield
    except (FileError, FileNotFoundError, IsADirectoryError, PermissionError, MemoryError):
        raise  # their messages already name the file
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a problem of the disk or of permissions, not of the file's content
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileError(f"{name} is not a complete {kind} ({why}): replace or remove it") from error
