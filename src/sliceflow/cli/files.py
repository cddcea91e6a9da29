"""Models, conditions and samples as a person names them on the command line."""

import hashlib
import math
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import torch
from PIL import Image

from sliceflow._atomic import replacing
from sliceflow.conditions import Columns, Observed
from sliceflow.data.tables import save_csv
from sliceflow.io import load
from sliceflow.model import FlowModel
from sliceflow.runs import Run, draw_grid, zoom_of
from sliceflow.viz import GAP, draw, save_picture, triptych

MOST_PIXELS = 89_478_485
"""Of a picture: Pillow takes larger ones for an attack."""

LONGEST, KEPT = 200, 40
"""Bytes of a folder's name, and characters that are kept of a longer one."""


def model_file(path: Path) -> Path:
    """Return the file of a model, given it or the folder of its run."""
    if not path.is_dir():
        return path
    run = Run(path)
    if run.model.exists():
        return run.model
    if run.config.exists():
        run.settings()  # without which it could not go on
        raise FileNotFoundError(f"the run in {path} has not ended: {run.resume()} goes on with it")
    raise FileNotFoundError(f"{path} has no model: name the folder of a run, or a model's file")


def opened(path: Path) -> FlowModel:
    """Return the model of a file, or of the folder of a run."""
    return load(model_file(path))


def conditions(model: FlowModel, y: str | None, n: int) -> np.ndarray | None:
    """Return y for n samples, from what is written for it."""
    if isinstance(model.condition, Observed):
        raise ValueError("the model fills in what is missing: use sliceflow inpaint")
    if model.classes is not None:
        return _labels(model.classes, y, n)
    if isinstance(model.condition, Columns):
        return _columns(model, y, n)
    if y is not None:
        raise ValueError("the model has no condition: leave out --y")
    return None


def _labels(classes: np.ndarray, y: str | None, n: int) -> np.ndarray:
    if y is None:
        return np.sort(np.resize(classes, n))
    known = {str(label): label for label in classes}
    if y not in known:
        raise ValueError(f"--y {y} is not one of the model's labels: it has {', '.join(known)}")
    return np.full(n, known[y])


def _columns(model: FlowModel, y: str | None, n: int) -> np.ndarray:
    l = model.condition.l
    names = ", ".join(model.names[-l:]) or f"{l} columns"
    try:
        values = [float(value) for value in (y or "").split(",")]
    except ValueError:
        values = []
    if len(values) != l:
        raise ValueError(f"--y has to have a number for each of {names}: such as --y 1,2.5")
    return np.tile(values, (n, 1))


def as_arrays(x: Any) -> np.ndarray:
    """Return samples as NumPy arrays, images of values from −1 to 1 as bytes."""
    x = torch.as_tensor(x).cpu()
    if x.ndim == 4 and x.dtype != torch.uint8:
        x = (128 * (x.float() + 1)).clamp(0, 255).to(torch.uint8)
    arrays: np.ndarray = x.numpy()
    return arrays


def check_picture(out: Path, model: FlowModel, name: str, n: int, each: int = 1) -> None:
    """Refuse a picture of n times so many images, if it is larger than programs will open."""
    if out.suffix.lower() == ".png":
        pixels = each * math.prod((side + GAP) * zoom_of(model.shape) for side in model.shape[1:])
        if n * pixels > MOST_PIXELS:
            raise ValueError(
                f"{name}={n} is too large for one picture: pass {name}={MOST_PIXELS // pixels} or "
                "less, or a name that ends in .npz as --out"
            )


def checked_out(out: Path | None, model: FlowModel) -> Path:
    """Return where samples go, if its suffix says how they can be written."""
    is_images = len(model.shape) == 3
    out = out or Path("samples.png" if is_images else "samples.csv")
    if out.suffix.lower() not in ((".png", ".npz", "") if is_images else (".csv", ".npz")):
        fits = ".png, .npz or the name of a folder" if is_images else ".csv or .npz"
        raise ValueError(f"--out {out} does not fit the samples: give {fits}")
    out.parent.mkdir(parents=True, exist_ok=True)
    return out


def save_samples(out: Path, model: FlowModel, x: np.ndarray, y: np.ndarray | None) -> None:
    """Write samples as the name of the file says."""
    kind = out.suffix.lower()
    if kind == ".npz":
        arrays = {"images" if x.ndim == 4 else "x": x} | ({} if y is None else {"labels": y})
        with replacing(out) as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    elif kind == ".csv":
        _save_table(out, model, x, y)
    elif kind == ".png":
        draw_grid(x, out, None if model.classes is None else y)
    else:
        _save_folder(out, x, y)


def _save_table(out: Path, model: FlowModel, x: np.ndarray, y: np.ndarray | None) -> None:
    columns = [*x.T, *([] if y is None else y.reshape(len(y), -1).T)]
    save_csv(out, model.columns, columns)


def _save_folder(out: Path, pixels: np.ndarray, y: np.ndarray | None) -> None:
    """Write each image as a file of its own, in a folder for its label."""
    for number, image in enumerate(pixels):
        place = out if y is None else out / folder_name(str(y[number]))
        place.mkdir(parents=True, exist_ok=True)
        lines = image[0] if len(image) == 1 else image.transpose(1, 2, 0)
        with replacing(place / f"{number:05}.png", sync=False) as file:
            Image.fromarray(lines).save(file, "PNG")


def folder_name(label: str) -> str:
    """Return a label as the name of a folder, with a percent-encoding of what is not safe there.

    Labels come from files, and such a file may be anyone's. Different labels get different names.
    """
    name = "".join(c if _is_safe(c) else quote(c, "", errors="surrogatepass") for c in label)
    name = f"%2E{name[1:]}" if name.startswith(".") else name or "%"
    if len(os.fsencode(name)) > LONGEST:
        digest = hashlib.sha256(name.encode()).hexdigest()
        return f"{name[:KEPT]}%{digest[:16]}"
    return name


def _is_safe(character: str) -> bool:
    return character.isprintable() and character not in '/\\:*?"<>|%'


def filled(model: FlowModel, images: np.ndarray, n: int, seed: int | None) -> np.ndarray:
    """Return n samples for each image: (images, n, C, h, w)."""
    if not isinstance(model.condition, Observed):
        raise ValueError(
            "the model does not fill in images: fit one with --observed left, say, first"
        )
    if images.shape[1:] != model.shape:
        raise ValueError(
            f"the images have shape {images.shape[1:]} and the model {model.shape}: give such"
        )
    if model.kind.dtype != torch.uint8:
        raise ValueError("the model has images of floats: fill them in from Python, model.inpaint")
    return as_arrays(model.inpaint(images, n, seed))


def save_filled(out: Path, model: FlowModel, images: np.ndarray, samples: np.ndarray) -> None:
    """Write what is given of images, their samples, and the images themselves."""
    assert isinstance(model.condition, Observed)
    if out.suffix.lower() == ".png":
        mask = model.condition.mask.reshape(model.shape).numpy()
        save_picture(draw(triptych(images, mask, samples), zoom_of(model.shape)), out)
    else:
        save_samples(out, model, samples.reshape(-1, *model.shape), None)
