"""The layout: folders import only from folders above them, and little is public."""

import ast
import inspect
import re
import subprocess
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from sliceflow import SlicedFlow

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "sliceflow"

ORDER = [
    "core",
    "directions",
    "transport",
    "codec",
    "flow",
    "data",
    "metrics",
    "viz",
    "notebook",
    "tables",
    "files",
    "runtime",
    "hub",
    "model",
    "table_model",
    "models",
    "runs",
    "estimator",
    "table",
    "mlflow",
    "launch",
    "reproduce",
    "web",
    "serve",
    "cli",
    "__main__",
]
"""Folders and modules at the root of the package, each of which imports only from those above."""


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}


def imports(name):
    """Yield the modules of the package that a module imports."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [*submodules, node.module or ""]
        elif isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        else:
            continue
        ours = [module for module in found if module.startswith("sliceflow")]
        local = {module.removeprefix("sliceflow.") for module in ours}
        yield from local & set(MODULES) - {name, ""}


def folder_of(name):
    return name.partition(".")[0]


def functions():
    """Yield every function of the package, with the name of its module."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield name, node


def test_every_module_has_its_place():
    assert {folder_of(name) for name in MODULES} - {""} == set(ORDER)


@pytest.mark.parametrize("name", [name for name in MODULES if name])
def test_imports_go_one_way(name):
    above = ORDER[: ORDER.index(folder_of(name)) + 1]
    assert {folder_of(module) for module in imports(name)} <= set(above)


def test_no_module_imports_itself_through_others():
    """A face, such as `flow/__init__.py`, is for those outside its folder."""
    graph = {name: set(imports(name)) for name in MODULES if "." in name}
    TopologicalSorter(graph).prepare()  # raises an error if there is a cycle
    for name, modules in graph.items():
        assert folder_of(name) not in modules, f"{name} imports the face of its own folder"


def test_tests_mirror_the_package():
    folders = {path.parent.name for path in TESTS.glob("*/test_*.py")}
    assert folders <= set(ORDER)
    assert folders >= {"core", "directions", "transport", "codec", "flow", "data", "files"}


def test_few_modules_lie_at_the_root():
    assert len(list(SOURCE.glob("*.py"))) <= 8


def test_few_names_are_public():
    public = [
        f"{name}.{target}"
        for name, tree in TREES.items()
        if not re.search(r"(^|\.)_", name)
        for node in tree.body
        for target in defined(node)
        if not target.startswith("_")
    ]
    assert len(public) <= 120, public


def defined(node):
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [leaf.id for target in targets if target for leaf in ast.walk(target)
            if isinstance(leaf, ast.Name)]  # fmt: skip


def test_functions_are_short():
    """Without their docstrings and signatures."""
    for name, node in functions():
        is_documented = ast.get_docstring(node) is not None
        body = node.body[1:] if is_documented else node.body
        lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
        assert lines <= 30, f"{name}.{node.name} has {lines} lines"


def test_conditions_are_asked_and_not_told_apart():
    told_apart = re.compile(r"isinstance\([^)]*\b(Columns|Label|Observed|Unconditional)\b")
    found = [
        f"{name}: {match[0]}"
        for name, path in MODULES.items()
        for match in told_apart.finditer(path.read_text())
    ]
    assert len(found) <= 4, found


def test_the_estimator_has_few_parameters():
    assert len(inspect.signature(SlicedFlow).parameters) <= 12


def test_nothing_else_lies_in_the_package():
    """It would be shipped."""
    files = subprocess.run(
        ["git", "ls-files", str(SOURCE)], cwd=TESTS, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    suffixes = {Path(name).suffix for name in files}
    assert suffixes <= {".py", ".pyi", ".html", ".js", ".css", ".typed"}
