"""Model files: they hold only data, no pickle and no code.

The file is an `archive` of `config.json`, tensors (safetensors) and a model card.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sliceflow.codec._checks import check_mask
from sliceflow.codec._codec import Codec
from sliceflow.codec._conditions import (
    Columns,
    Condition,
    Label,
    Observed,
    Summary,
    Unconditional,
)
from sliceflow.codec._kinds import Kind
from sliceflow.codec._residuals import Residuals
from sliceflow.codec._scaling import Scaling
from sliceflow.codec._support import Support
from sliceflow.codec._words import Words
from sliceflow.core._random import NumPyRandom, Random
from sliceflow.core._reading import FileError
from sliceflow.core._validation import (
    MAX_SEED,
    check_flag,
    check_integer,
    check_number,
    check_resolution,
)
from sliceflow.files._archive import (
    CARD,
    Archive,
    Config,
    Sizes,
    as_json,
    opened,
    write,
)
from sliceflow.files._residuals import read_residuals, residual_part
from sliceflow.files._tensors import as_tensors, tensors_of
from sliceflow.files._versions import FORMAT, MIGRATIONS, VERSION
from sliceflow.flow._engines import Exact, Fast
from sliceflow.flow._spec import Spec
from sliceflow.flow._starts import (
    BlendSampler,
    GaussianSampler,
    NoiseSampler,
    Sampler,
)
from sliceflow.flow._state import Record
from sliceflow.flow.schedules import Stage
from sliceflow.transport import PackedMap

LIBRARIES = ("sliceflow", "numpy", "torch")
"""Libraries whose versions are written to a file, for information only."""

MAPS = ("knots", "low", "high")
"""The tensors of a `PackedMap`."""

MIN_KNOTS = 4
"""Minimum number of knots of a map: the means of two parts, and both extremes."""

FLOATS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
DTYPES = {str(dtype): dtype for dtype in (torch.bool, *SIGNED, *UNSIGNED, *FLOATS)}
"""Allowed dtypes of data and samples, by name."""


Parts = tuple[Spec, Codec, Sampler, Record]
"""What a `Model` is made of."""


def write_model(path: Path, parts: Parts, card: Iterable[tuple[str, bytes]]) -> None:
    """Write what a model is made of, and its card, to a file."""
    write(path, chain(_parts(*parts), card))


def read_model(path: Path) -> tuple[Parts, bytes | None]:
    """Read a model and its picture from a file, after verifying its checksums.

    Any problem is a `FileError`.
    """
    with opened(path, FORMAT, VERSION, MIGRATIONS) as archive:
        spec = _spec(archive)
        steps = spec.steps_before(len(spec.schedule))
        record = read_record(archive, spec, spec.schedule, steps)
        parts = spec, _codec(archive, spec), _start(archive, spec), record
        archive.check_all_is_read()
        return parts, archive.picture()


def describe_model(path: str | Path) -> tuple[Config, str]:
    """Return the settings and the card of a model file, after verifying its checksums."""
    with opened(Path(path), FORMAT, VERSION, MIGRATIONS) as archive:
        return archive.config, archive.read(CARD).decode()


def _parts(spec: Spec, codec: Codec, start: Sampler, record: Record) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each part of a file."""
    config = {"format": FORMAT, "version": VERSION, "start": _start_config(start)}
    libraries = {"libraries": {name: version(name) for name in LIBRARIES}}
    yield "config.json", as_json(config | _spec_config(spec) | _codec_config(codec) | libraries)
    scaling, support, mask = codec.scaling, codec.support, spec.condition.mask
    yield "scaling.safetensors", as_tensors(shift=scaling.shift, scale=scaling.scale)
    if len(support.given):
        yield "support.safetensors", as_tensors(edges=support.edges, ends=support.ends)
    if isinstance(start, GaussianSampler):
        yield "start.safetensors", as_tensors(means=start.means, factors=start.factors)
    if mask is not None:
        yield "observed.safetensors", as_tensors(mask=mask)
    if codec.residuals is not None:
        yield residual_part(codec.residuals)
    yield from record_parts(record, spec.schedule)


def _spec_config(spec: Spec) -> Config:
    if not isinstance(spec.engine, Fast | Exact):
        raise TypeError(f"{spec.engine!r} cannot be written to a file: only Fast and Exact can")
    condition = spec.condition
    return {
        "shape": spec.shape,
        "condition": _named(
            condition,
            l=condition.l,
            amplifier=condition.amplifier,
            n_summary=condition.n_summary,
        ),
        "schedule": [asdict(stage) for stage in spec.schedule],
        "engine": _named(spec.engine, **asdict(spec.engine)),
        "seed": spec.seed,
        "random": spec.random.__name__,
    }


def _codec_config(codec: Codec) -> Config:
    classes = codec.classes
    return {
        "x": _kind_config(codec.x),
        "y": None if codec.y is None else _kind_config(codec.y) | {"shape": codec.y.shape},
        "classes": None if classes is None else [classes.dtype.str, classes.tolist()],
        "words": None if codec.words is None else _words_config(codec.words),
        "names": codec.names or None,
        "has_support": len(codec.support.given) > 0,
        "candidates": [] if codec.residuals is None else codec.residuals.regression.candidates,
    }


def _words_config(words: Words) -> list[Any]:
    return [None if column is None else column.tolist() for column in words.columns]


def _kind_config(kind: Kind) -> Config:
    return {"dtype": str(kind.dtype), "is_tensor": kind.device is not None}


def _start_config(start: Sampler) -> Config:
    names = ("std", "together", "clusters")
    return _named(start, **{name: getattr(start, name) for name in names if hasattr(start, name)})


def _named(thing: object, **settings: Any) -> dict[str, Any]:
    return {"name": type(thing).__name__, **settings}


def record_parts(record: Record, schedule: tuple[Stage, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield the record of each stage: its axes, if any, and the maps of the steps done."""
    maps = iter(record.maps)
    for number, (stage, axes) in enumerate(zip(schedule, record.axes, strict=False)):
        steps = list(islice(maps, stage.steps))
        tensors = {name: torch.stack([getattr(T, name) for T in steps]) for name in MAPS}
        yield _stage_name(number), as_tensors(**tensors, **({} if axes is None else {"axes": axes}))


def read_record(archive: Archive, spec: Spec, schedule: tuple[Stage, ...], steps: int) -> Record:
    """Read the record of these first stages; the last one may be unfinished."""
    record = Record()
    for number, stage in enumerate(schedule):
        h, p = spec.engine.count_maps(stage, spec.shape, spec.condition)
        done = min(stage.steps, steps - len(record.maps))
        sizes: Sizes = {name: (done, 2, h, None if name == "knots" else 1) for name in MAPS}
        tensors = tensors_of(archive, _stage_name(number), sizes | ({"axes": (p, p)} if p else {}))
        maps = [tensors[name] for name in MAPS]
        _check(PackedMap(*maps), tensors.get("axes"))
        record.axes.append(tensors.get("axes"))
        record.maps += [PackedMap(*T) for T in zip(*maps, strict=True)]
    return record


def _check(maps: PackedMap, axes: Tensor | None) -> None:
    """Refuse invalid maps and axes: with too few knots, kernels would read out of bounds."""
    if maps.knots.shape[-1] < MIN_KNOTS or not maps.ascends or (maps.low > maps.high).any():
        raise FileError(f"its maps have fewer than {MIN_KNOTS} knots, or knots that do not ascend")
    if axes is not None and ((axes.norm(dim=1) - 1).abs() > 1e-6).any():
        raise FileError("its axes are not of length one")


def _stage_name(number: int) -> str:
    return f"stage-{number:03}.safetensors"


def _spec(archive: Archive) -> Spec:
    config = archive.config
    shape = tuple(check_integer("shape", side, 1) for side in config["shape"])
    if len(shape) not in (1, 3) or not config["schedule"]:
        raise FileError("its shape is not that of a table or an image, or it has no stages")
    return Spec(
        shape,
        tuple(_stage(row, shape) for row in config["schedule"]),
        _condition(archive, config["condition"], shape),
        _engine(config["engine"]),
        check_integer("seed", config["seed"], 0, MAX_SEED),
        _random(config["random"]),
    )


def _codec(archive: Archive, spec: Spec) -> Codec:
    config, size = archive.config, math.prod(spec.shape) + spec.condition.l
    scaling = tensors_of(archive, "scaling.safetensors", {"shift": (size, 1), "scale": (size, 1)})
    if not (scaling["scale"] > 0).all():
        raise FileError("its scales are not positive")
    words = _words(config["words"], spec.condition)
    n_given = spec.condition.n_columns if words is None else len(words.columns)
    return Codec(
        _kind(config["x"], spec.shape),
        _y_kind(config["y"], n_given),
        spec.condition,
        Scaling(**scaling),
        _support(archive, spec),
        _classes(config["classes"], spec.condition),
        _names(config.get("names"), math.prod(spec.shape), n_given),
        _residuals(archive, spec),
        words,
    )


def _words(config: Any, condition: Condition) -> Words | None:
    if config is None:
        return None
    words = Words(tuple(None if column is None else _distinct(column) for column in config))
    if len(config) < 2 or sum(words.widths) != condition.l:
        raise FileError(f"its columns of words do not fit the {condition.l} columns of y")
    return words


def _distinct(values: list[Any]) -> np.ndarray:
    """Return the words of a column, which are all strings or all booleans."""
    words = np.array(values, dtype=object)
    is_known = len({type(value) for value in values}) == 1 and isinstance(values[0], str | bool)
    if not is_known or not np.array_equal(np.unique(words), words):
        raise FileError(f"the words {values} are not distinct ones in order")
    return words


def _residuals(archive: Archive, spec: Spec) -> Residuals | None:
    candidates, n_summary = archive.config["candidates"], spec.condition.n_summary
    if not isinstance(candidates, list) or bool(candidates) != bool(n_summary):
        raise FileError("it has a summary of y without a regression, or the reverse")
    if not n_summary:
        return None
    return read_residuals(archive, spec.condition, math.prod(spec.shape))


def _kind(config: Config, shape: tuple[int, ...]) -> Kind:
    is_tensor = check_flag("is_tensor", config["is_tensor"])
    return Kind(DTYPES[config["dtype"]], shape, torch.device("cpu") if is_tensor else None)


def _y_kind(config: Config | None, n_given: int) -> Kind | None:
    if config is None:
        return None
    shape = tuple(check_integer("shape", side, 1) for side in config["shape"])
    if math.prod(shape) != n_given:
        raise FileError(f"its y has shape {shape}, and not {n_given} columns")
    return _kind(config, shape)


def _condition(archive: Archive, config: dict[str, Any], shape: tuple[int, ...]) -> Condition:
    kinds = {"Columns": Columns, "Label": Label}
    least = {"Columns": 1, "Summary": 1, "Label": 2}.get(config["name"], 0)
    l = check_integer("l", config["l"], least)
    amplifier = check_number("amplifier", config["amplifier"], positive=False)
    n_summary = check_integer("n_summary", config["n_summary"], 0)
    if config["name"] == "Observed":
        tensors = tensors_of(archive, "observed.safetensors", {"mask": (math.prod(shape),)})
        return Observed(check_mask(tensors["mask"].reshape(shape), shape))
    if config["name"] == "Unconditional":
        return Unconditional()
    if config["name"] == "Summary":
        return Summary(l, math.prod(shape), n_summary)
    return kinds[config["name"]](l, amplifier)


def _engine(config: dict[str, Any]) -> Fast | Exact:
    engines: dict[str, type[Fast | Exact]] = {"Fast": Fast, "Exact": Exact}
    return engines[config["name"]](**{k: v for k, v in config.items() if k != "name"})


def _stage(row: dict[str, Any], shape: tuple[int, ...]) -> Stage:
    settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    stage = Stage(**settings)
    check_resolution(stage.resolution, shape)
    return stage


def _start(archive: Archive, spec: Spec) -> Sampler:
    config = archive.config["start"]
    d, groups = math.prod(spec.shape), spec.condition.n_groups
    if config["name"] == "NoiseSampler":
        return NoiseSampler(d, check_number("std", config["std"], positive=True))
    if config["name"] not in ("GaussianSampler", "BlendSampler"):
        raise FileError(f"its start {config['name']} is unknown")
    is_blend = config["name"] == "BlendSampler"
    clusters = check_integer("clusters", config["clusters"], 1) if is_blend else 1
    sizes: Sizes = {"means": (groups * clusters, d, 1), "factors": (groups * clusters, d, None)}
    tensors = tensors_of(archive, "start.safetensors", sizes)
    r = tensors["factors"].shape[2]
    if is_blend:
        together = check_integer("together", config["together"], 1, r)
        return BlendSampler(spec.condition, **tensors, clusters=clusters, together=together)
    if r > d:
        raise FileError(f"its start has {r} factors, more than {d}")
    return GaussianSampler(spec.condition, **tensors)


def _support(archive: Archive, spec: Spec) -> Support:
    given = spec.condition.numbers(spec.shape)
    if not check_flag("has_support", archive.config["has_support"]):
        return Support(given[:0], torch.empty(0, 2), torch.empty(0, 2))
    sizes: Sizes = {"edges": (len(given), 2), "ends": (len(given), 2)}
    tensors = tensors_of(archive, "support.safetensors", sizes)
    if any((tensor[:, 0] > tensor[:, 1]).any() for tensor in tensors.values()):
        raise FileError("the lower ends of its data are above the upper ones")
    return Support(given, **tensors)


def _classes(config: list[Any] | None, condition: Condition) -> np.ndarray | None:
    if condition.n_groups == 1:
        return None
    if config is None:
        raise FileError("it is conditional on labels, but has none")
    dtype, values = np.dtype(config[0]), config[1]
    is_labels = all(isinstance(v, bool | int | float | str) for v in values)
    if not is_labels or dtype.kind not in "biufUO":
        raise FileError(f"the labels {values} are not numbers or strings")
    classes = np.array(values, str if dtype.kind == "U" else dtype)
    if classes.shape != (condition.l,) or not np.array_equal(np.unique(classes), classes):
        raise FileError(f"the labels {values} are not {condition.l} distinct ones in order")
    return classes


def _names(config: Any, d: int, given: int) -> tuple[str, ...]:
    if config is None:
        return ()
    is_names = isinstance(config, list) and all(isinstance(name, str) for name in config)
    if not is_names or len(config) != d + given:
        raise FileError(f"the names {config} are not those of {d} columns of x and {given} of y")
    return tuple(config)


def _random(name: str) -> type[Random]:
    if name == "NumPyRandom" and not NumPyRandom.is_unchanged():
        raise FileError(
            f"its directions were drawn by NumPy, and NumPy {np.__version__} draws others: install "
            "numpy 2.4, or fit the model again"
        )
    return {"Random": Random, "NumPyRandom": NumPyRandom}[name]
