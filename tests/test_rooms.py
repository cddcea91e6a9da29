"""A room imports only from rooms above it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "sliceflow"

ROOMS = [
    "_terminal",
    "_ending",
    "_reading",
    "_settings",
    "_interrupts",
    "_parameters",
    "_atomic",
    "_kinds",
    "_validation",
    "_devices",
    "_scaling",
    "_support",
    "_random",
    "_threads",
    "_memory",
    "distributed",
    "archive",
    "pyramid",
    "projections.operator",
    "projections.sphere",
    "projections.local",
    "projections.tiles",
    "projections",
    "transport.sorted",
    "transport.kernels",
    "transport.histogram",
    "transport.knots",
    "transport",
    "conditions",
    "codec",
    "schedules",
    "targets",
    "streams",
    "starts",
    "engines",
    "spec",
    "loop",
    "flow",
    "progress",
    "data.images",
    "data.files",
    "data.idx",
    "data.cifar",
    "data.folders",
    "data.arrays",
    "data.blocks",
    "data.parquet",
    "data.tars",
    "data.tables",
    "data",
    "metrics.sliced",
    "metrics.inception",
    "metrics.frechet",
    "metrics.neighbours",
    "metrics.likeness",
    "metrics.classifier",
    "metrics",
    "viz",
    "card",
    "io",
    "model",
    "checkpoints",
    "plan",
    "estimator",
    "forecast",
    "board",
    "runs",
    "report",
    "_worker",
    "launch",
    "figures",
    "reproduce.fits",
    "reproduce.ablations",
    "reproduce.classes",
    "reproduce.inpainting",
    "reproduce.fid",
    "reproduce.engines",
    "reproduce.illustrations",
    "reproduce",
    "speed",
    "cli.options",
    "cli.parser",
    "cli.source",
    "cli.files",
    "cli.results",
    "cli.fit",
    "cli.sample",
    "cli.inpaint",
    "cli.evaluate",
    "cli.info",
    "cli.reproduce",
    "cli.bench",
    "cli",
    "__main__",
]


def room(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {room(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (n.removeprefix("sliceflow.") for n in names if n.split(".")[0] == "sliceflow")


def test_every_file_has_its_place():
    assert set(FILES) - {""} == set(ROOMS)


@pytest.mark.parametrize("name", ROOMS)
def test_imports_go_one_way(name):
    above = ROOMS[: ROOMS.index(name)]
    assert set(imported_rooms(FILES[name])) <= set(above)
