"""The files that bad and odd uses are made with: data, models and runs, whole and spoiled."""

import io
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from PIL import Image

from sliceflow import SlicedFlow, Stage
from sliceflow.files import _archive as archive

OUTSIDE = "outside"
"""The folder, beside those of the uses, in which nothing may change."""

RNG = np.random.default_rng(0)

Change = Callable[[dict, dict[str, bytes]], None]
"""What changes the settings and the parts of a model, in place."""


def make(folder: Path, outside: Path) -> None:
    """Make all files."""
    folder.mkdir()
    outside.mkdir()
    (outside / "keep.txt").write_text("keep")
    (folder / "home").mkdir()
    (folder / "data").mkdir()
    make_tables(folder)
    make_images(folder)
    make_arrays(folder)
    make_models(folder)
    make_runs(folder)
    make_spoiled_models(folder, outside)
    make_settings(folder)
    os.mkfifo(folder / "fifo")
    os.mkfifo(folder / "fifo.csv")


TABLES = {
    "empty.csv": "",
    "names.csv": "u,v\n",
    "one-row.csv": "u,v\n1,2\n",
    "two-rows.csv": "u,v\n1,2\n3,5\n",
    "constant.csv": "u,v\n" + "1,2\n" * 9,
    "ragged.csv": "u,v\n1,2\n3\n",
    "twice.csv": "u,u\n1,2\n3,4\n",
    "unnamed.csv": ",v\n1,2\n3,4\n",
    "missing.csv": "u,v,w\n" + "".join(f"{i},{i * i % 7},\n" for i in range(40)),
    "na.csv": "u,v\n1,2\nNA,3\n4,4\n5,1\n",
    "huge.csv": "u,v\n" + "1" * 400 + ",2\n3,4\n5,7\n",
    "ids.csv": "u,v\n" + "".join(f"{2**60 + i},{i % 5}\n" for i in range(40)),
    "infinite.csv": "u,v\n1,inf\n2,3\n4,5\n",
    "large.csv": "u,v\n1e300,1\n2,3\n4,5\n",
    "null.csv": "u,v\n1,\0\n2,3\n",
    "quotes.csv": 'u,v\n"1,2\n3,4\n',
    "words.csv": "u,v\na,b\nc,d\n",
    "comment.csv": "# made by hand\nu,v\n1,2\n3,4\n",
}


def make_tables(folder: Path) -> None:
    """Make CSV files."""
    for name, text in TABLES.items():
        (folder / name).write_text(text)
    rows = [
        (u, 2 * u + RNG.normal(), "ab"[i % 2], i % 3) for i, u in enumerate(RNG.normal(size=60))
    ]
    for name, separator in {"table.csv": ",", "semicolons.csv": ";", "tabs.csv": "\t"}.items():
        lines = [separator.join(map(str, row)) for row in [("u", "v", "kind", "code"), *rows]]
        (folder / name).write_text("\n".join(lines))
    lines = [",".join(map(str, row[:2])) for row in [("u", "v"), *rows]]
    (folder / "numbers.csv").write_text("\n".join(lines))
    (folder / "UPPER.CSV").write_text((folder / "table.csv").read_text())
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbf" + (folder / "table.csv").read_bytes())
    (folder / "crlf.csv").write_text((folder / "table.csv").read_text().replace("\n", "\r\n"))
    (folder / "latin.csv").write_bytes("u,v\n1,é\n2,è\n".encode("latin-1"))
    (folder / "utf16.csv").write_text("u,v\n1,2\n2,3\n", encoding="utf-16")
    (folder / "binary.csv").write_bytes(RNG.bytes(2000))
    (folder / "keep.csv").write_text("u,v\n1,2\n")
    wide = RNG.normal(size=(30, 300))
    head = ",".join(f"c{i}" for i in range(300))
    np.savetxt(folder / "wide.csv", wide, "%.3f", ",", header=head, comments="")


def make_images(folder: Path) -> None:
    """Make folders of image files."""
    for number, name in enumerate(("bright", "dark")):
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(12):
            pixels = RNG.integers(100, size=(8, 6, 3)) + 150 * (number == 0)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / "photos" / name / f"{i}.png")
    shutil.copytree(folder / "photos" / "dark", folder / "plain")
    for name, spoil in SPOILED_IMAGES.items():
        shutil.copytree(folder / "plain", folder / name)
        spoil(folder / name)
    (folder / "none").mkdir()
    Image.new("L", (6, 8), 255).save(folder / "white.png")
    Image.new("L", (9, 9), 255).save(folder / "mask-9x9.png")
    half = np.zeros((8, 6), np.uint8)
    half[:4] = 255
    Image.fromarray(half).save(folder / "half.png")


def add_truncated(folder: Path) -> None:
    """Add a file that ends too early."""
    data = (folder / "0.png").read_bytes()
    (folder / "broken.png").write_bytes(data[: len(data) // 2])


def add_text(folder: Path) -> None:
    """Add a file that is no image."""
    (folder / "broken.png").write_text("hello")


def add_empty(folder: Path) -> None:
    """Add a file of nothing."""
    (folder / "broken.png").touch()


def add_bomb(folder: Path) -> None:
    """Add a small file of 20000×20000 pixels."""
    rows = zlib.compress(bytes(20001) * 20000, 9)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 20000, 20000, 8, 0, 0, 0, 0)), (b"IDAT", rows)]
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in [*parts, (b"IEND", b"")]
    ]
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def add_other_size(folder: Path) -> None:
    """Add an image of another size."""
    Image.new("RGB", (5, 5)).save(folder / "broken.png")


def add_link_to_nowhere(folder: Path) -> None:
    """Add a name without a file."""
    (folder / "broken.png").symlink_to("nowhere.png")


def add_fifo(folder: Path) -> None:
    """Add what cannot be read to an end."""
    os.mkfifo(folder / "broken.png")


SPOILED_IMAGES: dict[str, Callable[[Path], None]] = {
    "truncated": add_truncated,
    "text": add_text,
    "hollow": add_empty,
    "bomb": add_bomb,
    "mixed": add_other_size,
    "dangling": add_link_to_nowhere,
    "piped": add_fifo,
}


def make_arrays(folder: Path) -> None:
    """Make npz files."""
    images = RNG.integers(256, size=(20, 1, 6, 6), dtype=np.uint8)
    arrays = {
        "images": {"images": images},
        "labelled": {"images": images, "labels": np.arange(20) % 2},
        "last": {"images": images.transpose(0, 2, 3, 1)},
        "five": {"images": np.zeros((4, 5, 8, 8), np.uint8)},
        "floats": {"images": images / 255},
        "other": {"pictures": images},
        "no-images": {"images": images[:0]},
        "short": {"images": images, "labels": np.arange(3)},
        "pickled": {"images": np.array([{}], dtype=object)},
        "scalar": {"images": np.uint8(3)},
    }
    for name, parts in arrays.items():
        np.savez(folder / f"{name}.npz", **parts)
    data = (folder / "images.npz").read_bytes()
    (folder / "cut.npz").write_bytes(data[: len(data) // 2])
    (folder / "text.npz").write_text("hello")
    np.save(folder / "images.npy", images)


def make_models(folder: Path) -> None:
    """Make a model of each kind."""
    images = RNG.integers(256, size=(40, 1, 6, 6), dtype=np.uint8)
    x, labels = RNG.normal(size=(60, 2)), np.arange(60) % 3
    stages = [Stage(2, 3), Stage(2, 6, 3, band=2)]
    fits = {
        "images": SlicedFlow(schedule=stages, random_state=0).fit(images),
        "classes": SlicedFlow(schedule=stages, random_state=0).fit(images, labels[:40]),
        "halves": SlicedFlow(schedule=stages, observed="left", random_state=0).fit(images),
        "points": SlicedFlow(schedule=3, random_state=0).fit(x),
        "labels": SlicedFlow(schedule=3, random_state=0).fit(
            x, np.array(["ant", "bee", "cow"])[labels]
        ),
        "numbers": SlicedFlow(schedule=3, random_state=0).fit(x, x[:, 0] + RNG.normal(size=60)),
        "pairs": SlicedFlow(schedule=3, random_state=0).fit(x, RNG.normal(size=(60, 2))),
        "rows": SlicedFlow(schedule=3, observed=np.array([True, False]), random_state=0).fit(x),
        "whole": SlicedFlow(schedule=3, random_state=0).fit((10 * x).astype(int)),
    }
    for name, fit in fits.items():
        fit.model_.save(folder / f"{name}.zip")


def make_runs(folder: Path) -> None:
    """Make a run that has ended, by the command line, and runs that are spoiled."""
    command = [sys.executable, "-m", "sliceflow", "fit", "table.csv", "--y", "kind"]
    settings = ["--schedule", "quick", "--effort", "0.1", "--out", "runs/done"]
    subprocess.run([*command, *settings], cwd=folder, check=True, capture_output=True)
    run = folder / "runs" / "done"
    spoiled = {
        "no-config": ("config.yaml", None),
        "empty-config": ("config.yaml", b""),
        "list-config": ("config.yaml", b"- 1\n- 2\n"),
        "junk-config": ("config.yaml", b"\x00\xff\x01:"),
        "bomb-config": ("config.yaml", bomb()),
        "other-config": ("config.yaml", b"data: table.csv\ncolour: red\n"),
        "junk-metrics": ("metrics.jsonl", metrics(run) + b"nonsense\n" + metrics(run)),
        "list-metrics": ("metrics.jsonl", b"[1, 2]\n"),
        "cut-model": ("model.zip", (run / "model.zip").read_bytes()[:3000]),
        "begun": ("model.zip", None),
    }
    for name, (file, content) in spoiled.items():
        shutil.copytree(run, run.with_name(name))
        path = run.with_name(name) / file
        path.unlink() if content is None else path.write_bytes(content)


def metrics(run: Path) -> bytes:
    """Return the first line of a run's metrics."""
    return (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)[0]


def bomb() -> bytes:
    """Return a small YAML file of a huge value."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for last, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]")
    return "\n".join([*lines, "data: *i"]).encode()


def make_settings(folder: Path) -> None:
    """Make YAML files for ``--config``."""
    files = {
        "bomb.yaml": bomb(),
        "empty.yaml": b"",
        "list.yaml": b"- 1\n",
        "junk.yaml": b"\x00\xff\x01:",
        "open.yaml": b"data: [1, 2\n",
        "unknown.yaml": b"data: table.csv\ncolour: red\n",
        "typed.yaml": b"data: table.csv\nn_particles: many\n",
        "tagged.yaml": b"data: !!python/object/apply:os.system [touch owned]\n",
        "good.yaml": b"data: table.csv\ny: kind\nschedule: quick\neffort: 0.05\n",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)


def rewritten(model: Path, target: Path, change: Change) -> None:
    """Write a copy of a model with other settings or parts, and sums that are right."""
    with ZipFile(model) as file:
        parts = {name: file.read(name) for name in file.namelist() if name != archive.MANIFEST}
    config = json.loads(parts["config.json"])
    change(config, parts)
    parts["config.json"] = json.dumps(config).encode()
    archive.write(target, parts.items())


def setting(*path: str, value: object) -> Change:
    """Return a change of one setting."""

    def change(config: dict, parts: dict[str, bytes]) -> None:
        inside = config
        for key in path[:-1]:
            inside = inside[int(key)] if isinstance(inside, list) else inside[key]
        inside[path[-1]] = value

    return change


def labels(*names: str) -> Change:
    """Return a change of the labels of a model."""
    return setting("classes", value=["<U40", sorted(names)])


def card(config: dict, parts: dict[str, bytes]) -> None:
    """Have a card that would clear a terminal and set its title."""
    parts["README.md"] = b"\x1b[2J\x1b]0;owned\x07# A model\n"


def tensor(part: str, name: str, value: float) -> Change:
    """Return a change of all values of a tensor."""

    def change(config: dict, parts: dict[str, bytes]) -> None:
        import safetensors.torch

        tensors = safetensors.torch.load(parts[part])
        tensors[name] = tensors[name].fill_(value)
        parts[part] = safetensors.torch.save(tensors)

    return change


def make_spoiled_models(folder: Path, outside: Path) -> None:
    """Make models that no fit would leave, with sums that are right, and files that are none."""
    (folder / "spoiled").mkdir()
    for name, (model, change) in changes(outside).items():
        rewritten(folder / f"{model}.zip", folder / "spoiled" / f"{name}.zip", change)
    data = (folder / "points.zip").read_bytes()
    spoiled = {
        "cut": data[: len(data) // 2],
        "flipped": data[:500] + bytes([data[500] ^ 1]) + data[501:],
        "empty": b"",
        "text": b"hello",
        "zip": other_zip(),
    }
    for name, content in spoiled.items():
        (folder / "spoiled" / f"{name}.zip").write_bytes(content)


def changes(outside: Path) -> dict[str, tuple[str, Change]]:
    """Return what becomes of which model, by the name of the spoiled one."""
    three = ("a", "b", str(outside / "owned"))
    return {
        "escape-absolute": ("classes", labels(*three)),
        "escape-relative": ("classes", labels("a", "b", "../../outside/owned")),
        "escape-dots": ("classes", labels("..", ".", "a")),
        "escape-terminal": ("classes", labels("\x1b[2J", "a", "b")),
        "card": ("points", card),
        "entropy": ("points", setting("engine", "entropy", value=1e300)),
        "step-size": ("points", setting("engine", "step_size", value=1e300)),
        "cells": ("points", setting("engine", "cells", value=10**12)),
        "shape": ("images", setting("shape", value=[1, 100000, 100000])),
        "steps": ("points", setting("schedule", "0", "steps", value=10**12)),
        "std": ("points", setting("start", "std", value=1e300)),
        "seed": ("points", setting("seed", value=-1)),
        "dtype": ("points", setting("x", "dtype", value="torch.complex64")),
        "version": ("points", setting("version", value=99)),
        "no-version": ("points", setting("version", value="new")),
        "format": ("points", setting("format", value="pickle")),
        "amplifier": ("labels", setting("condition", "amplifier", value=1e300)),
        "l": ("labels", setting("condition", "l", value=10**9)),
        "names": ("points", setting("names", value=["a"])),
        "scale": ("points", tensor("scaling.safetensors", "scale", 1e300)),
        "shift": ("points", tensor("scaling.safetensors", "shift", -1e300)),
        "no-scale": ("points", tensor("scaling.safetensors", "scale", 0.0)),
        "nan": ("points", tensor("scaling.safetensors", "shift", np.nan)),
        "high": ("points", tensor("stage-000.safetensors", "high", 3e38)),
        "low": ("points", tensor("stage-000.safetensors", "low", -3e38)),
    }


def other_zip() -> bytes:
    """Return a zip file that is none of ours."""
    file = io.BytesIO()
    with ZipFile(file, "w") as file_zip:
        file_zip.writestr("hello.txt", "hello")
    return file.getvalue()
