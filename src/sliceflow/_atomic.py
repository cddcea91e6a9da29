"""Files that are written whole or not at all: under another name, synced and renamed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

KEPT = 50
"""Characters of a name that the temporary one begins with: it must not get too long."""


@contextmanager
def replacing(path: Path, sync: bool = True) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when all of it is written, and only then.

    Without ``sync`` a power cut may still leave it empty: for many small files, it takes too long.
    """
    place = Path(os.path.realpath(path))  # a link stays one
    if place.exists() and not place.is_file():
        raise OSError(f"{path} is a folder, a pipe or a device: name a file")
    temporary = place.with_name(f"{place.name[:KEPT]}.{token_hex(4)}.part")
    try:
        with temporary.open("x+b") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, temporary)
        os.replace(temporary, place)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.strerror:
            is_own = error.filename in (None, str(temporary))
            error.filename = str(path) if is_own else error.filename
        raise
    if sync:
        _sync_folder(place.parent)


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8."""
    with replacing(path) as file:
        file.write(text.encode())


def _sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder outlasts a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
