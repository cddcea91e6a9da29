"""Models as files: what a `FlowModel` is, written down and read back. No pickle, no code.

The file is an `archive` of `config.json`, tensors (safetensors) and a model card.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sliceflow._random import NumPyRandom, Random
from sliceflow._reading import FileError
from sliceflow._scaling import Scaling
from sliceflow._support import Support
from sliceflow._validation import (
    MOST_SEED,
    Kind,
    check_flag,
    check_integer,
    check_mask,
    check_number,
    check_resolution,
)
from sliceflow.archive import (
    CARD,
    PICTURE,
    Archive,
    Config,
    Migrations,
    Sizes,
    as_json,
    as_tensors,
    opened,
    write,
)
from sliceflow.card import card_picture, card_text
from sliceflow.conditions import (
    Columns,
    Condition,
    Label,
    Observed,
    Unconditional,
    given_numbers,
)
from sliceflow.course import Record
from sliceflow.engines import Engine, Exact, Fast
from sliceflow.model import FlowModel
from sliceflow.schedules import Stage
from sliceflow.starts import GaussianSampler, NoiseSampler, Sampler
from sliceflow.transport import PackedMap

FORMAT, VERSION = "sliceflow model", 2


def _from_version_1(config: Config) -> Config:
    """NumPy made all draws, no file knew where its data has conditions, and no patch was narrow."""
    stages = [
        stage | {"patch": None} if (stage["patch"] or 0) >= (stage["resolution"] or 1) else stage
        for stage in config["schedule"]
    ]
    added = {"version": 2, "random": "NumPyRandom", "libraries": {}, "has_support": False}
    return config | {"schedule": stages} | added


MIGRATIONS: Migrations = {1: _from_version_1}
"""By version, what makes a config of it one of the next version."""

LIBRARIES = ("sliceflow", "numpy", "torch")
"""Whose versions a file tells, for people."""

MAPS = ("knots", "low", "high")
"""The tensors of a `PackedMap`."""

FEWEST = 4
"""Knots of a map: at least the means of two parts, and both extremes."""

FLOATS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
DTYPES = {str(dtype): dtype for dtype in (torch.bool, *INTEGERS, *UNSIGNED, *FLOATS)}
"""What data, and so samples, may be."""


def save(
    model: Any,
    path: str | Path,
    about: str = "",
    metrics: Mapping[str, float] | None = None,
) -> None:
    """Write a `FlowModel` to a file, or that of a fitted `SlicedFlow`.

    What it is about and how good it is goes into its card.
    """
    model = getattr(model, "model_", model)
    if not isinstance(model, FlowModel):
        raise TypeError(
            f"{type(model).__name__} is no model: pass a FlowModel, or a SlicedFlow that was "
            "fitted and recorded, SlicedFlow(knots=64).fit(x)"
        )
    write(Path(path), _parts(model, about, metrics or {}))


def load(path: str | Path) -> FlowModel:
    """Read a model from a file, after checking its sums. `FileError` says what is wrong with it."""
    with opened(Path(path), FORMAT, VERSION, MIGRATIONS) as archive:
        model = _model(archive)
        archive.check_all_is_read()
        return model


def describe(path: str | Path) -> tuple[Config, str]:
    """Return the settings and the card of a model, after checking the sums of its file."""
    with opened(Path(path), FORMAT, VERSION, MIGRATIONS) as archive:
        return archive.config, archive.read(CARD).decode()


def _parts(
    model: FlowModel, about: str, metrics: Mapping[str, float]
) -> Iterator[tuple[str, bytes]]:
    yield "config.json", as_json(_config(model))
    yield "scaling.safetensors", as_tensors(shift=model.scaling.shift, scale=model.scaling.scale)
    if len(model.support.given):
        edges, ends = model.support.edges, model.support.ends
        yield "support.safetensors", as_tensors(edges=edges, ends=ends)
    if isinstance(model.start, GaussianSampler):
        yield "start.safetensors", as_tensors(means=model.start.means, factors=model.start.factors)
    if isinstance(model.condition, Observed):
        yield "observed.safetensors", as_tensors(mask=model.condition.mask)
    yield from record_parts(model.record, model.schedule)
    picture = card_picture(model)
    if picture is not None:
        yield PICTURE, picture
    yield CARD, card_text(model, about, metrics, picture is not None).encode()


def _config(model: FlowModel) -> Config:
    """Return all that is not a tensor."""
    if not isinstance(model.engine, Fast | Exact):
        raise TypeError(f"{model.engine!r} cannot be written to a file: only Fast and Exact can")
    condition, start, classes = model.condition, model.start, model.classes
    return {
        "format": FORMAT,
        "version": VERSION,
        "shape": model.shape,
        "condition": _named(condition, l=condition.l, amplifier=condition.amplifier),
        "schedule": [asdict(stage) for stage in model.schedule],
        "engine": _named(model.engine, **asdict(model.engine)),
        "entropy": model.entropy,
        "fixed_directions": model.fixed_directions,
        "seed": model.seed,
        "start": _named(start, **({"std": start.std} if isinstance(start, NoiseSampler) else {})),
        "dtype": str(model.kind.dtype),
        "is_tensor": model.kind.device is not None,
        "classes": None if classes is None else [classes.dtype.str, classes.tolist()],
        "names": model.names or None,
        "random": model.random.__name__,
        "has_support": len(model.support.given) > 0,
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def _named(thing: object, **settings: Any) -> dict[str, Any]:
    return {"name": type(thing).__name__, **settings}


def record_parts(record: Record, schedule: tuple[Stage, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield what was recorded, by stage: axes, if any, and the maps of the steps that were done."""
    maps = iter(record.maps)
    for number, (stage, axes) in enumerate(zip(schedule, record.axes, strict=False)):
        steps = list(islice(maps, stage.steps))
        tensors = {name: torch.stack([getattr(T, name) for T in steps]) for name in MAPS}
        yield _stage_name(number), as_tensors(**tensors, **({} if axes is None else {"axes": axes}))


def read_record(
    archive: Archive,
    schedule: tuple[Stage, ...],
    engine: Engine,
    shape: tuple[int, ...],
    steps: int,
) -> Record:
    """Read what was recorded of stages, the last of which may have been left before its end."""
    record = Record()
    for number, stage in enumerate(schedule):
        (h, p), done = engine.maps(stage, shape), min(stage.steps, steps - len(record.maps))
        sizes: Sizes = {name: (done, 2, h, None if name == "knots" else 1) for name in MAPS}
        tensors = archive.tensors(_stage_name(number), sizes | ({"axes": (p, p)} if p else {}))
        _check_maps(**tensors)
        record.axes.append(tensors.get("axes"))
        by_step = zip(*(tensors[name] for name in MAPS), strict=True)
        record.maps += [PackedMap(*T) for T in by_step]
    return record


def _check_maps(knots: Tensor, low: Tensor, high: Tensor, axes: Tensor | None = None) -> None:
    """Refuse what no step leaves: compiled code would read beyond maps of too few knots."""
    x = knots[:, 0]
    if x.shape[-1] < FEWEST or (x[..., 1:] < x[..., :-1]).any() or (low > high).any():
        raise FileError(f"its maps have fewer than {FEWEST} knots, or knots that do not ascend")
    if axes is not None and ((axes.norm(dim=1) - 1).abs() > 1e-6).any():
        raise FileError("its axes are not of length one")


def _stage_name(number: int) -> str:
    return f"stage-{number:03}.safetensors"


def _model(archive: Archive) -> FlowModel:
    config = archive.config
    shape = tuple(check_integer("shape", side, 1) for side in config["shape"])
    if len(shape) not in (1, 3) or not config["schedule"]:
        raise FileError("it is neither of tables nor of images, or has no stages")
    condition = _condition(archive, config["condition"], shape)
    engine = _engine(config["engine"])
    schedule = tuple(_stage(row, shape) for row in config["schedule"])
    is_tensor = check_flag("is_tensor", config["is_tensor"])
    kind = Kind(DTYPES[config["dtype"]], torch.device("cpu") if is_tensor else None)
    size = math.prod(shape) + condition.l
    scaling = archive.tensors("scaling.safetensors", {"shift": (size, 1), "scale": (size, 1)})
    if not (scaling["scale"] > 0).all():
        raise FileError("it scales by what is not positive")
    return FlowModel(
        condition,
        shape,
        schedule,
        engine,
        check_number("entropy", config["entropy"], positive=False),
        check_flag("fixed_directions", config["fixed_directions"]),
        check_integer("seed", config["seed"], 0, MOST_SEED),
        _start(archive, config["start"], condition, math.prod(shape)),
        read_record(archive, schedule, engine, shape, sum(stage.steps for stage in schedule)),
        _support(archive, condition, shape),
        Scaling(**scaling),
        kind,
        _classes(config["classes"], condition),
        _names(config.get("names"), shape, condition),
        _random(config["random"]),
    )


def _condition(archive: Archive, config: dict[str, Any], shape: tuple[int, ...]) -> Condition:
    kinds = {"Columns": Columns, "Label": Label}
    l = check_integer("l", config["l"], 1 if config["name"] in kinds else 0)
    amplifier = check_number("amplifier", config["amplifier"], positive=False)
    if config["name"] == "Observed":
        tensors = archive.tensors("observed.safetensors", {"mask": (math.prod(shape),)})
        return Observed(check_mask(tensors["mask"].reshape(shape), shape))
    if config["name"] == "Unconditional":
        return Unconditional()
    return kinds[config["name"]](l, amplifier)


def _engine(config: dict[str, Any]) -> Fast | Exact:
    engines: dict[str, type[Fast | Exact]] = {"Fast": Fast, "Exact": Exact}
    return engines[config["name"]](**{k: v for k, v in config.items() if k != "name"})


def _stage(row: dict[str, Any], shape: tuple[int, ...]) -> Stage:
    band = row["band"]
    stage = Stage(**row | {"band": tuple(band) if isinstance(band, list) else band})
    check_resolution(stage.resolution, shape)
    return stage


def _start(archive: Archive, config: dict[str, Any], condition: Condition, d: int) -> Sampler:
    if config["name"] == "NoiseSampler":
        return NoiseSampler(d, check_number("std", config["std"], positive=True))
    if config["name"] != "GaussianSampler":
        raise FileError(f"there is no start {config['name']}")
    groups = condition.l if isinstance(condition, Label) else 1
    sizes: Sizes = {"means": (groups, d, 1), "factors": (groups, d, None)}
    tensors = archive.tensors("start.safetensors", sizes)
    if tensors["factors"].shape[2] > d:
        raise FileError(f"its start has {tensors['factors'].shape[2]} factors, more than {d}")
    return GaussianSampler(condition, **tensors)


def _support(archive: Archive, condition: Condition, shape: tuple[int, ...]) -> Support:
    given = given_numbers(condition, shape)
    if not check_flag("has_support", archive.config["has_support"]):
        return Support(given[:0], torch.empty(0, 2), torch.empty(0, 2))
    sizes: Sizes = {"edges": (len(given), 2), "ends": (len(given), 2)}
    tensors = archive.tensors("support.safetensors", sizes)
    if any((tensor[:, 0] > tensor[:, 1]).any() for tensor in tensors.values()):
        raise FileError("its data ends before it begins")
    return Support(given, **tensors)


def _classes(config: list[Any] | None, condition: Condition) -> np.ndarray | None:
    if not isinstance(condition, Label):
        return None
    if config is None:
        raise FileError("a model by label without its labels")
    dtype, values = np.dtype(config[0]), config[1]
    is_labels = all(isinstance(v, bool | int | float | str) for v in values)
    if not is_labels or dtype.kind not in "biufUO":
        raise FileError(f"the labels {values} are not numbers or strings")
    classes = np.array(values, str if dtype.kind == "U" else dtype)
    if classes.shape != (condition.l,) or not np.array_equal(np.unique(classes), classes):
        raise FileError(f"the labels {values} are not {condition.l} in their order")
    return classes


def _names(config: Any, shape: tuple[int, ...], condition: Condition) -> tuple[str, ...]:
    if config is None:
        return ()
    d, given = math.prod(shape), 1 if isinstance(condition, Label) else condition.l
    is_names = isinstance(config, list) and all(isinstance(name, str) for name in config)
    if not is_names or len(config) != d + given:
        raise FileError(f"the names {config} are not those of {d} columns and {given} given ones")
    return tuple(config)


def _random(name: str) -> type[Random]:
    if name == "NumPyRandom" and not NumPyRandom.is_unchanged():
        raise FileError(
            f"its directions were drawn by NumPy, and NumPy {np.__version__} draws others: install "
            "numpy 2.4, or fit the model again"
        )
    return {"Random": Random, "NumPyRandom": NumPyRandom}[name]
