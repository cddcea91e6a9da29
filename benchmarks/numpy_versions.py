"""The same model file, the same bits: samples with the oldest and the newest NumPy we support.

Each has a fresh environment, with this package and its dependencies from the package index, which
are gigabytes. A small run samples twice in the present environment instead.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.ledger import ROOT, Figure
from sliceflow import Exact, Model, SlicedFlow, Stage

TILES = [Stage(3, 4), Stage(3, 8, 4, band=4), Stage(3, 12, 4, band=(1, None), shared=True)]
PATCHES = [Stage(3, 6, 3), Stage(3, 12, 5)]


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how many different sums the samples of each model have, at most: it must be one."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, model in models().items():
            files.append(Path(folder, f"{name}.zip"))
            model.save(files[-1])
        if shrink == 1:
            pythons = [fresh(Path(folder, numpy), numpy) for numpy in (oldest_numpy(), "numpy")]
        else:
            pythons = [sys.executable] * 2
        results = [sampled(python, files) for python in pythons]
    different = [len(set(sums)) for sums in zip(*(r["sums"] for r in results), strict=True)]
    versions = " and ".join(result["versions"]["numpy"] for result in results)
    about = f"different sums of samples of a model, at most, with NumPy {versions}"
    yield Figure("numpy_versions.models", len(files), "", "models that were sampled")
    yield Figure("numpy_versions.sums", max(different), "", about)


def models() -> dict[str, Model]:
    """Return models of images by class and of tables, of both engines."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(256, size=(300, 3, 12, 12), dtype=np.uint8), np.arange(300) % 3
    table = rng.normal(size=(300, 4)) * [1, 10, 100, 1000]
    tiles = SlicedFlow(schedule=TILES, random_state=0)
    patches = SlicedFlow(schedule=PATCHES, engine=Exact(64), random_state=0)
    noisy = SlicedFlow(schedule=20, engine=Exact(16, entropy=0.01), random_state=0)
    return {
        "images by class, Fast": tiles.fit(images, labels).model_,
        "images by class, Exact": patches.fit(images, labels).model_,
        "table by class, Fast": SlicedFlow(schedule=20, random_state=0).fit(table, labels).model_,
        "table, Exact, with noise": noisy.fit(table).model_,
    }


def oldest_numpy() -> str:
    """Return the oldest NumPy that this package allows, as a requirement."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (bound,) = (found[1] for line in needed if (found := re.fullmatch(r"numpy>=(.+)", line)))
    return f"numpy=={bound}"


def fresh(folder: Path, numpy: str) -> str:
    """Make an environment with this package and this NumPy; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    torch = f"torch=={version('torch').partition('+')[0]}"
    command = [python, "-m", "pip", "install", "--quiet", torch, numpy, str(ROOT)]
    subprocess.run(command, check=True, env=plain_environment())
    return python


def sampled(python: str, files: list[Path]) -> dict:
    """Return the versions of libraries, and a sum of samples of each file; print them."""
    env = None if python == sys.executable else plain_environment()
    command = [python, "-P", ROOT / "benchmarks" / "_sampled.py", *files]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout)
    print("  " + ", ".join(f"{name} {number}" for name, number in result["versions"].items()))
    for path, digest in zip(files, result["sums"], strict=True):
        print(f"    {path.stem:28} {digest[:32]}", flush=True)
    return result


def plain_environment() -> dict[str, str]:
    """Return the environment variables, without a path to another copy of this package."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
