"""What README and docs say to do is done here, block by block, in the order of each document."""

import doctest
import importlib
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from own_data import make_photos

from benchmarks.__main__ import SUITES
from sliceflow.cli import COMMANDS
from sliceflow.data import data_folder

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
MNIST = data_folder() / "mnist"


def blocks(document):
    """Return the blocks of a document that are code: their language, and their lines."""
    return re.findall(r"^```(sh|python)\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


def prepare(folder):
    """Put into a folder what documents call your own data."""
    make_photos(folder / "photos", ("cats", "dogs"), 30, shape=(8, 6))  # small, to be quick
    (folder / "examples").symlink_to(ROOT / "examples")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One folder for several documents, with what they call your own data; commands done in it."""
    folder = tmp_path_factory.mktemp("docs")
    prepare(folder)
    return folder, set()


def together(document):
    """Return a document as a parameter; pages that fit the same digits run in one process."""
    group = "digits" if document.name in ("README.md", "start.md") else "own data"
    return pytest.param(document, marks=pytest.mark.xdist_group(group), id=document.name)


@pytest.mark.slow
@pytest.mark.parametrize("document", [together(path) for path in DOCUMENTS if blocks(path)])
def test_blocks_run(document, place):
    needs_mnist = any("mnist" in code for _, code in blocks(document))
    if needs_mnist and not list(MNIST.glob("train-images*")):
        pytest.skip(f"MNIST is not in {MNIST}")
    folder, done = place
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands(document):
        if command not in done:  # documents may say the same
            environment = os.environ | {"PATH": path, "MLFLOW_DISABLE_TELEMETRY": "true"}
            subprocess.run(command, cwd=folder, env=environment, check=True, timeout=600)
            done.add(command)


def commands(document):
    """Return what a document says to do: each line of the shell, each block of Python."""
    for language, code in blocks(document):
        if language == "python":
            yield sys.executable, "-c", code
        else:
            lines = (line.partition("  #")[0].rstrip() for line in code.splitlines())
            yield from (("bash", "-c", line) for line in lines if not line.startswith("pip "))


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


@pytest.mark.parametrize("page", ["paper.md", "design.md"])
def test_what_pages_name_exists(page):
    """Every word that is code is a name in the code, and every path of a module exists."""
    folders = ("src", "tests", "examples", "benchmarks", "docs")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    texts = [f"{path}\n{path.read_text()}" for path in [*files, ROOT / "pyproject.toml"]]
    names = {word for text in texts for word in re.findall(r"\w+", text)}
    for code in re.findall(r"`([\w./]+)`", (ROOT / "docs" / page).read_text()):
        assert set(re.findall(r"\w+", code)) <= names | {"md"}, code
        if "/" in code and code.endswith(".py"):
            assert any(str(path).endswith(f"/{code}") for path in files), code


def test_the_page_of_commands_has_every_option(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    page = importlib.import_module("commands").all_help("0")
    for name, command in COMMANDS.items():
        _, _, section = page.partition(f"## sliceflow {name}\n")
        section, _, _ = section.partition("\n## ")
        told = re.findall(r"{option} (?:--)?([\w-]+)", section)
        assert {field.name.replace("_", "-") for field in fields(command)} <= set(told)


def test_links_lead_somewhere():
    """Within the project: `sphinx-build -b linkcheck` tries those that lead out of it."""
    for path in DOCUMENTS:
        for link in re.findall(r"\]\(([^)#]+)", path.read_text()):
            if link.startswith("http"):
                continue
            here = path.parent / link
            is_gallery = link.startswith(("concepts/", "tables/"))  # which Sphinx makes
            assert here.exists() or is_gallery, f"{path.name}: {link}"


@pytest.mark.parametrize("name", ["estimator", "table", "tables._imputer"])
def test_examples_in_docstrings_are_right(name):
    results = doctest.testmod(importlib.import_module(f"sliceflow.{name}"))
    assert results.attempted > 3
    assert not results.failed
