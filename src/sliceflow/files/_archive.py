"""A file of named parts: a zip with checksums of everything in it, written atomically.

Parts are not compressed, and any unzip program opens the file. `manifest.json` has the size and
the SHA-256 of each part; the zip's comment has the SHA-256 of everything before it, so that any
changed byte is detected before anything is read.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import safetensors.numpy

from sliceflow.core._atomic import replacing
from sliceflow.core._reading import FileError, VersionError, check_file
from sliceflow.core._validation import MAX_MAGNITUDE

MANIFEST = "manifest.json"
CARD, PICTURE = "README.md", "samples.png"
PNG, MAX_PICTURE = b"\x89PNG", 2**22
"""How a PNG file begins, and the maximum size in bytes of a picture that notebooks show."""
CHECKSUM_LABEL, CHECKSUM_DIGITS = b"sha256:", 64
READ_BYTES = 2**20

ARRAYS = {
    **dict.fromkeys(("shift", "scale", "axes", "edges", "ends"), ("float64",)),
    **dict.fromkeys(("means", "factors", "low", "high"), ("float32",)),
    **dict.fromkeys(
        ("values", "scores", "y_values", "y_scores", "u_values", "u_scores"), ("float64",)
    ),
    **dict.fromkeys(("centres", "metrics", "coefficients", "limits", "slack"), ("float64",)),
    **dict.fromkeys(("mask", "kept", "u_kept"), ("bool",)),
    **dict.fromkeys(("modes", "tree_counts", "tree_columns"), ("int64",)),
    **dict.fromkeys(("tree_cuts", "tree_values"), ("float64",)),
    "knots": ("int8", "int16", "int32"),
    **dict.fromkeys(("roots", "column", "left", "right", "first", "size"), ("int32",)),
    **dict.fromkeys(("cut", "leaf_values"), ("float32",)),
    **dict.fromkeys(("line", "places"), ("float64",)),
    "distinct": ("int64", "float64"),
    "counts": ("int64",),
    "particles": ("float32", "float64"),
}
"""Every array that a file may hold, with its allowed dtypes."""

MAX_VALUES = {
    **dict.fromkeys(("shift", "scale", "edges", "ends"), 100 * MAX_MAGNITUDE),
    **dict.fromkeys(("means", "factors", "low", "high"), 100 * MAX_MAGNITUDE),
    "axes": 1 + 1e-6,
}
"""The largest value that a fit can produce in an array, given data up to `MAX_MAGNITUDE`."""


def write(path: Path, parts: Iterable[tuple[str, bytes]]) -> None:
    """Write the parts to one file; the same parts give the same bytes."""
    with replacing(path) as file:
        _write_zip(file, parts)
        size = file.seek(0, os.SEEK_END) - CHECKSUM_DIGITS
        digest = _digest(file, size)
        file.seek(size)
        file.write(digest)


def _write_zip(file: BinaryIO, parts: Iterable[tuple[str, bytes]]) -> None:
    """Write the parts and their manifest, and reserve space for the checksum at the end."""
    manifest = {}
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, data in parts:
            archive.writestr(ZipInfo(name), data)
            manifest[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            del data  # it may be large: free it before the next part is made
        archive.writestr(ZipInfo(MANIFEST), as_json(manifest))
        archive.comment = CHECKSUM_LABEL + bytes(CHECKSUM_DIGITS)


def as_json(value: Any) -> bytes:
    """Return a value as readable JSON; NumPy numbers are converted to Python's."""
    text = json.dumps(value, indent=1, ensure_ascii=False, default=lambda number: number.item())
    return text.encode()


def as_safetensors(**arrays: np.ndarray) -> bytes:
    """Return arrays as safetensors."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return bytes(safetensors.numpy.save(contiguous))


Config = dict[str, Any]
"""The contents of `config.json`."""

Migrations = Mapping[int, Callable[[Config], Config]]
"""For each version, a function that converts its config to the next version."""


@contextmanager
def opened(
    path: Path, format: str, version: int, migrations: Migrations = MappingProxyType({})
) -> Iterator["Archive"]:
    """Open a file of a format for reading; any problem with it is a `FileError`.

    The config of an older file is migrated to this version.
    """
    with check_file(path).open("rb") as file:
        try:
            archive = Archive(file)
            archive.config = _migrated(archive.config, format, version, migrations)
            yield archive
        except Exception as error:
            is_ours = isinstance(error, FileError)
            kind, message = (type(error), str(error)) if is_ours else (FileError, repr(error))
            raise kind(f"{path} cannot be used: {message}") from error


def _migrated(config: Config, format: str, version: int, migrations: Migrations) -> Config:
    """Return the config of a file, converted to this version."""
    found = config["version"]
    if config["format"] != format:
        raise FileError(f"it is a {config['format']}, not a {format}: pass another file")
    if found > version:
        raise VersionError(f"it has version {found}, newer than {version}: use a newer sliceflow")
    for number in range(found, version):
        if number not in migrations:
            raise VersionError(
                f"it has version {found}, not {version}: use the version of sliceflow that wrote it"
            )
        config = migrations[number](config)
    return config


Sizes = dict[str, tuple[int | None, ...]]
"""Expected shapes of arrays by name; None stands for any size."""


class Archive:
    """A file of parts, open for reading, with a valid checksum."""

    def __init__(self, file: BinaryIO) -> None:
        _check_whole(file)
        self._zip = ZipFile(file)
        parts = self._zip.infolist()
        if any(part.compress_type != ZIP_STORED for part in parts):
            raise FileError("it is compressed, and could expand to any size")
        self._manifest = json.loads(self._zip.read(MANIFEST))
        if sorted(part.filename for part in parts) != sorted([*self._manifest, MANIFEST]):
            raise FileError("its parts are not those of its manifest")
        self._unread = set(self._manifest)
        self.config: Config = json.loads(self.read("config.json"))

    def read(self, name: str) -> bytes:
        """Return a part."""
        if name not in self._manifest:
            raise FileError(f"it has no {name}")
        info, entry = self._zip.getinfo(name), self._manifest[name]
        if info.file_size != entry["bytes"]:
            raise FileError(f"{name} does not have the size of the manifest")
        self._unread.discard(name)
        return self._zip.read(info)  # the checksum of the whole file covers it

    def picture(self) -> bytes | None:
        """Return the picture of the card, if there is one that notebooks can show."""
        data = self.read(PICTURE) if PICTURE in self._manifest else b""
        return data if data.startswith(PNG) and len(data) <= MAX_PICTURE else None

    def arrays(self, name: str, sizes: Sizes) -> dict[str, np.ndarray]:
        """Return the arrays of a part, if they are as expected, and finite."""
        arrays = safetensors.numpy.load(self.read(name))
        if set(arrays) != set(sizes):
            raise FileError(f"{name} holds {sorted(arrays)}, not {sorted(sizes)}")
        for key, array in arrays.items():
            if not _fits(array, sizes[key]):
                raise FileError(f"{key} of {name} has shape {array.shape}, not {sizes[key]}")
            is_finite = array.dtype.kind in "iu" or np.isfinite(array).all()
            if array.dtype not in ARRAYS[key] or not is_finite:
                raise FileError(f"{key} of {name} is {array.dtype}, or not finite")
            if key in MAX_VALUES and (np.abs(array) > MAX_VALUES[key]).any():
                raise FileError(f"{key} of {name} has numbers beyond {MAX_VALUES[key]:g}")
        return arrays

    def check_all_is_read(self) -> None:
        """Refuse a file with unused parts, except for the card and the picture."""
        if unread := sorted(self._unread - {CARD, PICTURE}):
            raise FileError(f"it has unexpected parts: {', '.join(unread)}")


def _fits(array: np.ndarray, size: tuple[int | None, ...]) -> bool:
    return array.ndim == len(size) and all(
        s is None or n == s for n, s in zip(array.shape, size, strict=True)
    )


def _check_whole(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END) - CHECKSUM_DIGITS
    file.seek(max(size - len(CHECKSUM_LABEL), 0))
    label, digest = file.read(len(CHECKSUM_LABEL)), file.read()
    if label != CHECKSUM_LABEL:
        raise FileError("it does not end as a sliceflow file does: download or save it again")
    if digest != _digest(file, size):
        raise FileError("it was changed or damaged: download or save it again")


def _digest(file: BinaryIO, size: int) -> bytes:
    """Return the SHA-256 of the first ``size`` bytes of a file, in hexadecimal."""
    total = hashlib.sha256()
    file.seek(0)
    while size > 0:
        chunk = file.read(min(READ_BYTES, size))
        total.update(chunk)
        size -= len(chunk) or size
    return total.hexdigest().encode()


def format_of(path: Path) -> str:
    """Return the format of a file; nothing if it is damaged, or none of ours."""
    check_file(path)
    try:
        with ZipFile(path) as archive:
            config = archive.getinfo("config.json")
            is_plain = config.compress_type == ZIP_STORED
            return str(json.loads(archive.read(config))["format"]) if is_plain else ""
    except Exception:
        return ""
