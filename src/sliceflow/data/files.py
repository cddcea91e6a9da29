"""Where data is: in a folder, else at its publisher."""

import hashlib
import os
import tarfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tqdm import tqdm

from sliceflow._atomic import replacing

CHUNK = 2**20


def data_folder(folder: str | Path | None = None) -> Path:
    """Return the folder that is named, else `SLICEFLOW_DATA`, else the user's cache."""
    named = folder or os.environ.get("SLICEFLOW_DATA")
    place = Path(named or "~/.cache/sliceflow")
    try:
        return place.expanduser()
    except RuntimeError as error:
        raise FileNotFoundError(
            f"{place} leads to a home folder that is not known: set SLICEFLOW_DATA to a folder"
        ) from error


@dataclass(frozen=True)
class Source:
    """A file at its publisher.

    Parameters
    ----------
    url
        Its address.
    digest
        Its checksum: MD5 where the publisher gives that, else SHA-256.
    """

    url: str
    digest: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return PurePosixPath(self.url).name

    def fetch(self, folder: Path) -> Path:
        """Return the file in this folder, fetched if it is not there."""
        path = folder / self.name
        if not path.exists():
            _make(folder)
            with replacing(path) as file:
                self._download(folder, file)
        return path

    def _download(self, folder: Path, file: BinaryIO) -> None:
        digest = hashlib.md5() if len(self.digest) == 32 else hashlib.sha256()
        try:
            with urllib.request.urlopen(self.url, timeout=30) as answer:
                size = int(answer.headers.get("Content-Length", 0)) or None
                with tqdm(total=size, unit="B", unit_scale=True, desc=self.name) as bar:
                    while chunk := answer.read(CHUNK):
                        file.write(chunk)
                        digest.update(chunk)
                        bar.update(len(chunk))
        except urllib.error.URLError as error:
            raise ConnectionError(
                f"{self.name} is not in {folder} and {self.url} cannot be reached "
                f"({error.reason}): put it there, or name another data folder"
            ) from error
        if digest.hexdigest() != self.digest:
            raise ValueError(
                f"{self.url} has another checksum than it should: try again, or put a "
                f"{self.name} that you trust in {folder}"
            )


def _make(folder: Path) -> None:
    """Make a folder for data, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"{folder} cannot be made ({error.strerror}): set SLICEFLOW_DATA to a folder of yours"
        ) from error


def unpack(archive: Path, member: str, path: Path) -> Path:
    """Take one member out of a tar file."""
    with tarfile.open(archive) as tar:
        stream = tar.extractfile(member)
        assert stream is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(stream.read())
    return path
