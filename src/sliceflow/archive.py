"""One file of named parts, whole or not at all: a zip with the sums of everything in it.

Parts are stored as they are, so that any unzip opens the file. `manifest.json` has the size and the
SHA-256 of each; the zip's comment has the SHA-256 of all that stands before it, so that a byte
changed anywhere is seen before anything is read. A file is written under another name, synced and
renamed: under its own name it is never there in part.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

MANIFEST = "manifest.json"
LABEL, DIGITS = b"sha256:", 64
CHUNK = 2**20


class FileError(ValueError):
    """A file that is damaged, incomplete, or none of ours."""


def write(path: Path, parts: Iterable[tuple[str, bytes]]) -> None:
    """Write the parts, one after the other, as one file; the same parts give the same bytes."""
    temporary = path.with_name(path.name + ".part")
    with temporary.open("w+b") as file:
        manifest = {}
        with ZipFile(file, "w", ZIP_STORED) as archive:
            for name, data in parts:
                archive.writestr(ZipInfo(name), data)
                manifest[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            archive.writestr(ZipInfo(MANIFEST), as_json(manifest))
            archive.comment = LABEL + bytes(DIGITS)
        size = file.seek(0, os.SEEK_END) - DIGITS
        digest = _digest(file, size)
        file.seek(size)
        file.write(digest)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync(path.parent)


def as_json(value: Any) -> bytes:
    """Return a value as readable JSON."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


class Archive:
    """A file of parts, open for reading; its sums agree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file, self._errors("the file"):
            _check_whole(file)
        with self._errors("the list of its parts"):
            self._zip = ZipFile(path)
            self._manifest = json.loads(self._zip.read(MANIFEST))
            names = [info.filename for info in self._zip.infolist()]
            if sorted(names) != sorted([*self._manifest, MANIFEST]):
                raise FileError("the parts are not those of the manifest")

    def read(self, name: str) -> bytes:
        """Return a part."""
        with self._errors(name):
            info, entry = self._zip.getinfo(name), self._manifest[name]
            if info.compress_type != ZIP_STORED or info.file_size != entry["bytes"]:
                raise FileError("not as large as the manifest says")
            data = self._zip.read(info)
            if hashlib.sha256(data).hexdigest() != entry["sha256"]:
                raise FileError("not the bytes that the manifest has the sum of")
            return data

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Turn whatever a bad file does to its readers into one error."""
        try:
            yield
        except Exception as error:
            raise FileError(
                f"{self.path} cannot be used: {what}: {error or type(error).__name__}"
            ) from error


def _check_whole(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END) - DIGITS
    file.seek(max(size - len(LABEL), 0))
    label, digest = file.read(len(LABEL)), file.read()
    if label != LABEL:
        raise FileError("it does not end as a file of sliceflow does: fetch or write it again")
    if digest != _digest(file, size):
        raise FileError("it was changed or damaged: fetch or write it again")


def _digest(file: BinaryIO, size: int) -> bytes:
    """Return the SHA-256 of the first bytes of a file, in hexadecimal."""
    total = hashlib.sha256()
    file.seek(0)
    while size > 0:
        chunk = file.read(min(CHUNK, size))
        total.update(chunk)
        size -= len(chunk) or size
    return total.hexdigest().encode()


def _sync(folder: Path) -> None:
    """Make sure that a new name in a folder outlasts a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
