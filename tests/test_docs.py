"""What README and docs say to do is done here, block by block, in the order of each document."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.__main__ import SUITES
from sliceflow.data import data_folder

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
MNIST = data_folder() / "mnist"


def blocks(document):
    """Return the blocks of a document that are code: their language, and their lines."""
    return re.findall(r"^```(sh|python)\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


def prepare(folder):
    """Put into a folder what documents call your own data."""
    rng = np.random.default_rng(0)
    for kind in ("cats", "dogs"):
        (folder / "photos" / kind).mkdir(parents=True)
        for i in range(30):
            pixels = rng.integers(100, size=(12, 10, 3)) + (100 if kind == "cats" else 0)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / "photos" / kind / f"{i}.png")
    rows = [f"{x},{x + 1},{('setosa', 'virginica')[i % 2]}" for i, x in enumerate(rng.random(90))]
    (folder / "flowers.csv").write_text("\n".join(["length,width,species", *rows]))
    (folder / "examples").symlink_to(ROOT / "examples")


@pytest.mark.slow
@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if blocks(path)], ids=lambda path: path.name
)
def test_blocks_run(document, tmp_path):
    needs_mnist = any("mnist" in code for _, code in blocks(document))
    if needs_mnist and not list(MNIST.glob("train-images*")):
        pytest.skip(f"MNIST is not in {MNIST}")
    prepare(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for language, code in blocks(document):
        code = re.sub(r"^pip install .*\n", "", code, flags=re.MULTILINE)
        command = ["bash", "-e", "-c", code] if language == "sh" else [sys.executable, "-c", code]
        environment = os.environ | {"PATH": path}
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=600)


def test_extras_exist():
    project = (ROOT / "pyproject.toml").read_text()
    named = [
        extra for path in DOCUMENTS for extra in re.findall(r'"\.\[(\w+)\]"', path.read_text())
    ]
    assert named
    for extra in named:
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE)


def test_benchmarks_exist():
    text = "\n".join(path.read_text() for path in DOCUMENTS)
    for suites in re.findall(r"python -m benchmarks ([a-z0-9_ ]+)", text):
        assert set(suites.split()) <= set(SUITES), suites


def test_pictures_exist():
    for path in DOCUMENTS:
        for picture in re.findall(r"!\[.*?\]\((.*?)\)", path.read_text()):
            assert (path.parent / picture).exists(), f"{path.name}: {picture}"
