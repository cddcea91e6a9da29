"""Ways to spoil a file: by its bytes, and by parts that do not fit, under sums that are right."""

import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import safetensors.numpy

from sliceflow.files import _archive as archive

Parts = dict[str, bytes]

OPTIONAL = ("resolution", "patch", "band")
"""Settings that may be None."""


def flip(rng: np.random.Generator, data: bytes) -> bytes:
    """Change a few bits."""
    spoiled = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        spoiled[place] ^= 1 << int(rng.integers(8))
    return bytes(spoiled)


def truncate(rng: np.random.Generator, data: bytes) -> bytes:
    """Leave out the end."""
    return data[: rng.integers(len(data))]


def swap(rng: np.random.Generator, data: bytes) -> bytes:
    """Let two pieces change places."""
    a, b, c = np.sort(rng.integers(len(data), size=3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def repeat(rng: np.random.Generator, data: bytes) -> bytes:
    """Have a piece twice."""
    a, b = np.sort(rng.integers(len(data), size=2))
    return data[:b] + data[a:b] + data[b:]


def scribble(rng: np.random.Generator, data: bytes) -> bytes:
    """Write noise over a piece."""
    a = int(rng.integers(len(data)))
    return data[:a] + rng.bytes(int(rng.integers(1, 64))) + data[a + 64 :]


BYTES = (flip, truncate, swap, repeat, scribble)


def lose_a_part(rng: np.random.Generator, parts: Parts) -> None:
    """Leave a part out that is needed."""
    del parts[_needed(rng, parts)]


def swap_parts(rng: np.random.Generator, parts: Parts) -> None:
    """Let two parts of different kinds have each other's bytes."""
    stages = [name for name in _tensors(parts) if name.startswith("stage")]
    a, b = rng.choice(stages), rng.choice(sorted(set(_tensors(parts)) - set(stages)))
    parts[a], parts[b] = parts[b], parts[a]


def add_a_part(rng: np.random.Generator, parts: Parts) -> None:
    """Have a part that is none."""
    name = str(rng.choice(["model.pkl", "../sitecustomize.py", "stage-999.safetensors"]))
    parts[name] = parts["config.json"]


def leave_the_folder(rng: np.random.Generator, parts: Parts) -> None:
    """Give a part a name that leads elsewhere."""
    name = _needed(rng, parts)
    parts[str(rng.choice(["../", "/tmp/", "a/../../", "C:\\\\"])) + name] = parts.pop(name)


def claim_a_huge_header(rng: np.random.Generator, parts: Parts) -> None:
    """Say that a header of tensors is longer than the file."""
    name = str(rng.choice(_tensors(parts)))
    length = int(rng.choice([2**62, 2**40, 2**31, len(parts[name])]))
    parts[name] = struct.pack("<Q", length) + parts[name][8:]


def claim_huge_tensors(rng: np.random.Generator, parts: Parts) -> None:
    """Say that a tensor is larger than the file."""
    name = str(rng.choice(_tensors(parts)))
    (length,) = struct.unpack("<Q", parts[name][:8])
    header = json.loads(parts[name][8 : 8 + length])
    tensor = header[str(rng.choice([key for key in header if key != "__metadata__"]))]
    tensor["shape"] = [2**31, *tensor["shape"]]
    tensor["data_offsets"][1] = 2**50
    text = json.dumps(header).encode()
    parts[name] = struct.pack("<Q", len(text)) + text + parts[name][8 + length :]


def change_the_config(rng: np.random.Generator, parts: Parts) -> None:
    """Say something else than the tensors do, or nothing that makes sense."""
    config = json.loads(parts["config.json"])
    key = str(rng.choice(sorted(config.keys() - {"libraries"})))  # these are for people alone
    wrong = [None, -1, "x", [], {}, [2**40, 2**40], [[[]]], math.nan, ["<U40000000", ["a", "b"]]]
    other = [value for value in wrong if value != config[key]]
    config[key] = other[rng.integers(len(other))]
    parts["config.json"] = json.dumps(config).encode()


def change_a_setting(rng: np.random.Generator, parts: Parts) -> None:
    """Have a number that no fit would take."""
    config = json.loads(parts["config.json"])
    inside, key = (places := _settings(config))[rng.integers(len(places))]
    wrong = [math.nan, math.inf, -1, "1", [1], 1e300, 10**300, None]
    last = len(wrong) - (key in OPTIONAL)
    inside[key] = wrong[rng.integers(last)]
    parts["config.json"] = json.dumps(config).encode()


def exceed_the_range(rng: np.random.Generator, parts: Parts) -> None:
    """Have a number in a tensor that no data leads to."""
    name, tensors = _any_tensors(rng, parts)
    key = str(rng.choice([key for key, tensor in tensors.items() if tensor.dtype.kind == "f"]))
    tensor = tensors[key] = tensors[key].copy()
    tensor.flat[rng.integers(tensor.size, size=3)] = rng.choice([3e38, -3e38, 1e30, 1e21])
    parts[name] = safetensors.numpy.save(tensors)


def disorder_the_knots(rng: np.random.Generator, parts: Parts) -> None:
    """Have knots that fall, that end before they begin, or too few of them."""
    name = str(rng.choice([name for name in parts if name.startswith("stage")]))
    tensors = safetensors.numpy.load(parts[name])
    knots, low, high = (tensors[key] for key in ("knots", "low", "high"))
    tensors |= [
        {"knots": knots[..., ::-1].copy()},
        {"low": high + 1, "high": low - 1},
        {"knots": knots[..., : rng.integers(4)].copy()},
    ][rng.integers(3)]
    parts[name] = safetensors.numpy.save(tensors)


def change_numbers(rng: np.random.Generator, parts: Parts) -> None:
    """Change any numbers by any factor: some are still those of a model, if not of a good one."""
    factor = float(rng.choice([-1, 1]) * 10.0 ** rng.uniform(-40, 40))
    if rng.random() < 0.5:
        config = json.loads(parts["config.json"])
        inside, key = (places := _settings(config))[rng.integers(len(places))]
        inside[key] = type(inside[key] or 0.0)((inside[key] or 1.0) * factor)
        parts["config.json"] = json.dumps(config).encode()
        return
    name, tensors = _any_tensors(rng, parts)
    key = str(rng.choice([key for key in tensors if tensors[key].size]))
    tensor = tensors[key] = tensors[key].copy()
    some = rng.integers(tensor.size, size=rng.choice([1, tensor.size]))
    with np.errstate(all="ignore"):
        changed = tensor.flat[some] * factor
        tensor.flat[some] = np.clip(changed, *_range(tensor.dtype))
    parts[name] = safetensors.numpy.save(tensors)


def nest_the_config(rng: np.random.Generator, parts: Parts) -> None:
    """Have lists in lists, too deep to read."""
    parts["config.json"] = b"[" * 100_000


def lengthen_the_schedule(rng: np.random.Generator, parts: Parts) -> None:
    """Ask for steps that are not there."""
    config = json.loads(parts["config.json"])
    stage = config["schedule"][rng.integers(len(config["schedule"]))]
    stage["steps"] += int(10 ** rng.integers(0, 12))
    parts["config.json"] = json.dumps(config).encode()


PARTS = (
    *(lose_a_part, swap_parts, add_a_part, leave_the_folder),
    *(claim_a_huge_header, claim_huge_tensors),
    *(change_the_config, change_a_setting, nest_the_config, lengthen_the_schedule),
    *(exceed_the_range, disorder_the_knots, change_numbers),
)

MAY_LOAD = change_numbers.__name__
"""A file that is spoiled in this way may be a model, which must give finite samples."""


def _settings(config: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return where the numbers of a config are, but for the version."""
    inside = [config, config["condition"], config["engine"], config["start"], *config["schedule"]]
    places = [(settings, key) for settings in inside for key in settings if key != "version"]
    return [(settings, key) for settings, key in places if type(settings[key]) in (int, float)]


def _range(dtype: np.dtype) -> tuple[float, float]:
    """Return the least and the largest number of a type."""
    if dtype.kind == "b":
        return 0, 1
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.min, limits.max


def _any_tensors(rng: np.random.Generator, parts: Parts) -> tuple[str, dict[str, np.ndarray]]:
    """Return the name and the tensors of a part that has numbers."""
    name = str(rng.choice([name for name in _tensors(parts) if not name.startswith("observed")]))
    return name, safetensors.numpy.load(parts[name])


def _needed(rng: np.random.Generator, parts: Parts) -> str:
    return str(rng.choice(["config.json", *_tensors(parts)]))


def _tensors(parts: Parts) -> list[str]:
    return [name for name in parts if name.endswith("safetensors")]


def parts_of(path: Path) -> Parts:
    """Return the parts of a file, without their sums."""
    with ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist() if name != archive.MANIFEST}


def spoil(rng: np.random.Generator, good: Path, bad: Path) -> str:
    """Write a spoiled copy of a file; return in what way. Of three, one has its sums made right."""
    if rng.random() < 2 / 3:
        way: Callable = BYTES[rng.integers(len(BYTES))]
        data = way(rng, good.read_bytes())
        bad.write_bytes(data if data != good.read_bytes() else b"")
        return way.__name__
    parts = parts_of(good)
    way = PARTS[rng.integers(len(PARTS))]
    way(rng, parts)
    archive.write(bad, parts.items())
    return way.__name__
