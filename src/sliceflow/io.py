"""Models as files: what a `FlowModel` is, written down and read back. No pickle, no code.

The file is an `archive` of `config.json`, tensors (safetensors) and a model card.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from sliceflow._scaling import Scaling
from sliceflow._validation import Kind
from sliceflow.archive import Archive, FileError, as_json, write
from sliceflow.card import card_picture, card_text
from sliceflow.conditions import Columns, Condition, Label, Observed, Unconditional
from sliceflow.course import Record
from sliceflow.engines import Engine, Exact, Fast
from sliceflow.model import FlowModel
from sliceflow.schedules import Stage
from sliceflow.starts import GaussianSampler, NoiseSampler, Sampler
from sliceflow.transport import PackedMap

FORMAT, VERSION = "sliceflow model", 1

DTYPES = {str(d): d for d in (torch.uint8, torch.float16, torch.float32, torch.float64)}
TENSORS = {
    **dict.fromkeys(("shift", "scale", "axes"), (torch.float64,)),
    **dict.fromkeys(("means", "factors", "low", "high"), (torch.float32,)),
    "mask": (torch.bool,),
    "knots": (torch.int16, torch.int32),
}
"""Every tensor that a model may hold."""


def save(
    model: FlowModel,
    path: str | Path,
    about: str = "",
    metrics: Mapping[str, float] | None = None,
) -> None:
    """Write a model to a file; what it is about and how good it is goes into its card."""
    write(Path(path), _parts(model, about, metrics or {}))


def load(path: str | Path) -> FlowModel:
    """Read a model from a file, after checking its sums. `FileError` says what is wrong with it."""
    archive = Archive(Path(path))
    try:
        return _model(archive)
    except FileError:
        raise
    except Exception as error:  # whatever a bad file does to its reader is one error
        raise FileError(f"{path} is no model: {type(error).__name__}: {error}") from error
    finally:
        archive.close()


def _parts(
    model: FlowModel, about: str, metrics: Mapping[str, float]
) -> Iterator[tuple[str, bytes]]:
    yield "config.json", as_json(_config(model))
    yield "scaling.safetensors", _tensors(shift=model.scaling.shift, scale=model.scaling.scale)
    if isinstance(model.start, GaussianSampler):
        yield "start.safetensors", _tensors(means=model.start.means, factors=model.start.factors)
    if isinstance(model.condition, Observed):
        yield "observed.safetensors", _tensors(mask=model.condition.mask)
    for number, stage in enumerate(model.schedule):
        yield f"stage-{number:03}.safetensors", _stage(model, number, stage)
    picture = card_picture(model)
    if picture is not None:
        yield "samples.png", picture
    yield "README.md", card_text(model, about, metrics, picture is not None).encode()


def _config(model: FlowModel) -> dict[str, Any]:
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
    }


def _named(thing: object, **settings: Any) -> dict[str, Any]:
    return {"name": type(thing).__name__, **settings}


def _stage(model: FlowModel, number: int, stage: Stage) -> bytes:
    """Return the tensors of a stage: its axes, if any, and the maps of its steps."""
    first = sum(before.steps for before in model.schedule[:number])
    maps, axes = model.record.maps[first : first + stage.steps], model.record.axes[number]
    tensors = {
        name: torch.stack([getattr(T, name) for T in maps]) for name in ("knots", "low", "high")
    }
    return _tensors(**tensors, **({} if axes is None else {"axes": axes}))


def _tensors(**tensors: Tensor) -> bytes:
    return safetensors.torch.save({name: t.cpu().contiguous() for name, t in tensors.items()})


def _model(archive: Archive) -> FlowModel:
    config = json.loads(archive.read("config.json"))
    if config["format"] != FORMAT or config["version"] != VERSION:
        raise FileError(
            f"{archive.path} is a {config['format']} of version {config['version']}, and this "
            f"sliceflow reads version {VERSION}: get the sliceflow that wrote it"
        )
    shape = tuple(config["shape"])
    condition = _condition(archive, config["condition"], shape)
    engine = _engine(config["engine"])
    schedule = tuple(_schedule_row(row) for row in config["schedule"])
    kind = Kind(DTYPES[config["dtype"]], torch.device("cpu") if config["is_tensor"] else None)
    size = math.prod(shape) + condition.l
    scaling = _read(archive, "scaling.safetensors", shift=(size, 1), scale=(size, 1))
    return FlowModel(
        condition,
        shape,
        schedule,
        engine,
        float(config["entropy"]),
        bool(config["fixed_directions"]),
        int(config["seed"]),
        _start(archive, config["start"], condition, math.prod(shape)),
        _record(archive, schedule, engine, condition, shape),
        Scaling(**scaling),
        kind,
        _classes(config["classes"], condition),
    )


def _condition(archive: Archive, config: dict[str, Any], shape: tuple[int, ...]) -> Condition:
    kind, l, amplifier = config["name"], config["l"], config["amplifier"]
    if kind == "Observed":
        return Observed(_read(archive, "observed.safetensors", mask=(math.prod(shape),))["mask"])
    if kind == "Unconditional":
        return Unconditional()
    return {"Columns": Columns, "Label": Label}[kind](int(l), float(amplifier))


def _engine(config: dict[str, Any]) -> Fast | Exact:
    engines: dict[str, type[Fast | Exact]] = {"Fast": Fast, "Exact": Exact}
    return engines[config["name"]](**{k: v for k, v in config.items() if k != "name"})


def _schedule_row(row: dict[str, Any]) -> Stage:
    band = row["band"]
    return Stage(**row | {"band": tuple(band) if isinstance(band, list) else band})


def _start(archive: Archive, config: dict[str, Any], condition: Condition, d: int) -> Sampler:
    if config["name"] == "NoiseSampler":
        return NoiseSampler(d, float(config["std"]))
    groups = condition.l if isinstance(condition, Label) else 1
    sizes = {"means": (groups, d, 1), "factors": (groups, d, d)}
    return GaussianSampler(condition, **_read(archive, "start.safetensors", **sizes))


def _record(
    archive: Archive,
    schedule: tuple[Stage, ...],
    engine: Engine,
    condition: Condition,
    shape: tuple[int, ...],
) -> Record:
    """Read the axes and the maps of all stages, as many as the schedule has."""
    record = Record()
    for number, stage in enumerate(schedule):
        h, p = engine.maps(stage, shape)
        axes = {} if p is None else {"axes": (p, p)}
        sizes = {"knots": (stage.steps, 2, h, None), "low": (stage.steps, 2, h, 1)}
        sizes["high"] = sizes["low"]
        tensors = _read(archive, f"stage-{number:03}.safetensors", **sizes, **axes)
        record.axes.append(tensors.pop("axes", None))
        steps = zip(tensors["knots"], tensors["low"], tensors["high"], strict=True)
        record.maps += [PackedMap(*step) for step in steps]
    return record


def _classes(config: list[Any] | None, condition: Condition) -> np.ndarray | None:
    if not isinstance(condition, Label):
        return None
    if config is None:
        raise FileError("a model by label without its labels")
    dtype, values = config
    classes = np.array(values, np.dtype(dtype))
    if classes.shape != (condition.l,) or not all(isinstance(v, bool | int | str) for v in values):
        raise FileError(f"the labels {values} are not {condition.l} integers or strings")
    return classes


def _read(archive: Archive, part: str, **sizes: tuple[int | None, ...]) -> dict[str, Tensor]:
    """Return the tensors of a part, if they are those expected, of these sizes, and finite."""
    tensors = safetensors.torch.load(archive.read(part))
    if set(tensors) != set(sizes):
        raise FileError(f"{part} of {archive.path} holds {sorted(tensors)}, not {sorted(sizes)}")
    for name, size in sizes.items():
        tensor = tensors[name]
        fits = tensor.dtype in TENSORS[name] and tensor.dim() == len(size)
        fits = fits and all(
            n > 1 if s is None else n == s for n, s in zip(tensor.shape, size, strict=True)
        )
        if not fits or not tensor.isfinite().all():
            raise FileError(
                f"{part} of {archive.path}: {name} is {tensor.dtype} of shape "
                f"{tuple(tensor.shape)}, not of {size}, or is not finite"
            )
    return tensors
