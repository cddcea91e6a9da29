"""Atomic writes: to a temporary file, which is then synced and renamed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

MAX_STEM_CHARACTERS = 50
"""Maximum number of characters of the file's name in the temporary name."""


@contextmanager
def replacing(path: Path, sync: bool = True) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` only once it is completely written.

    Without ``sync``, a power cut may leave the file empty. Syncing many small files is too slow.
    """
    target = Path(os.path.realpath(path))  # keep a symbolic link, replace its target
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is a folder, a pipe or a device: pass a file")
    temporary = target.with_name(f"{target.name[:MAX_STEM_CHARACTERS]}.{token_hex(4)}.part")
    try:
        with temporary.open("x+b") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.strerror:
            is_own = error.filename in (None, str(temporary))
            error.filename = str(path) if is_own else error.filename
        raise
    if sync:
        _sync_folder(target.parent)


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8, atomically."""
    with replacing(path) as file:
        file.write(text.encode())


def _sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder survives a power cut."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows cannot open folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
