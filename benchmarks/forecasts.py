"""What `sliceflow fit --dry-run` foretells, against what the fit then takes: time and memory."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
from PIL import Image

from benchmarks.ledger import Figure
from sliceflow.data import load
from sliceflow.data._tables import save_csv

PRESETS = ("quick", "standard", "best")
ROWS, COLUMNS, PHOTOS = 20_000, 8, 500

FIT = """
import atexit, sys
from sliceflow.core._memory import peak_memory
from sliceflow.cli import main
atexit.register(lambda: print(peak_memory(), file=sys.stderr))
main()
"""
"""The command, which tells its peak: what Linux tells of a child begins with its parent's."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield ratios of what was foretold to what was measured, for each data set and preset."""
    with tempfile.TemporaryDirectory() as name:
        table = Path(name, "table.csv")
        write_table(table, ROWS // shrink)
        data = {"table": [str(table)]}
        if shrink == 1:
            photos = Path(name, "photos")
            write_photos(photos)
            data |= {"photos": [str(photos)], "mnist": ["mnist", "--y", "label"]}
        for what, arguments in data.items():
            for preset in PRESETS:
                out = str(Path(name, f"{what}-{preset}"))
                command = [*arguments, "--schedule", preset, "--out", out]
                yield from compared(f"{what}.{preset}", command)


def write_table(path: Path, rows: int) -> None:
    """Write a table of numbers."""
    save_csv(path, [f"x{i}" for i in range(COLUMNS)], list(numbers(rows).T))


def numbers(rows: int) -> np.ndarray:
    """Return a table of numbers that depend on each other."""
    rng = np.random.default_rng(0)
    return rng.gamma(2, size=(rows, COLUMNS)) @ rng.normal(size=(COLUMNS, COLUMNS))


def write_photos(folder: Path) -> None:
    """Write some photographs, of a size of their own, as a person may have them."""
    folder.mkdir()
    for number, pixels in enumerate(load("cifar10")[:PHOTOS].pixels):
        photo = Image.fromarray(pixels.transpose(1, 2, 0)).resize((40, 48))
        photo.save(folder / f"{number}.png")


def compared(name: str, command: list[str]) -> Iterator[Figure]:
    """Yield the seconds of a fit, and foretold / measured."""
    told, _, _ = fit([*command, "--dry-run", "--json"])
    foretold = json.loads(told)
    _, seconds, memory = fit(command)
    what = name.replace(".", ", ")
    yield Figure(f"fit.seconds.{name}", seconds, "s", f"the whole command `sliceflow fit`, {what}")
    about = f"foretold / measured, {what}"
    ratio = foretold["seconds"] / seconds
    yield Figure(f"forecast.seconds.{name}", ratio, "", f"seconds {about}")
    ratio = foretold["bytes"] / memory
    gib = memory / 2**30
    yield Figure(f"forecast.memory.{name}", ratio, "", f"memory {about}: {gib:.1f} GiB")


def fit(arguments: list[str]) -> tuple[str, float, int]:
    """Return what `sliceflow fit` prints, how long it takes, and the most memory it has."""
    command = [sys.executable, "-c", FIT, "fit", *arguments]
    started = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, perf_counter() - started, int(done.stderr.split()[-1])
