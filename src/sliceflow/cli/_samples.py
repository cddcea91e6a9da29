"""Models, conditions and samples, as given on the command line and saved to files."""

import hashlib
import math
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from PIL import Image

from sliceflow.codec._codec import Codec
from sliceflow.core._atomic import replacing
from sliceflow.data._tables import save_csv
from sliceflow.model import Model
from sliceflow.models import load
from sliceflow.runs._run import Run
from sliceflow.runs._samples import MAX_PIXELS, arrays_of, columns_of
from sliceflow.table_model import TableModel
from sliceflow.viz import GAP, draw, save_picture, sheet, triptych, zoom_of

MAX_NAME_BYTES, KEPT_CHARACTERS = 200, 40
"""Maximum length of a folder's name, and how much is kept of a longer one."""


def model_file(path: Path) -> Path:
    """Return the file of a model, given the file itself or the folder of a run."""
    if not path.is_dir():
        return path
    run = Run(path)
    if run.model.exists():
        return run.model
    if run.config.exists():
        run.settings()  # raises an error if the run cannot be resumed
        raise FileNotFoundError(f"the run in {path} is not complete: resume it by {run.resume()}")
    raise FileNotFoundError(
        f"{path} has no model: pass the folder of a run, or the file of a model"
    )


def load_model(path: Path) -> Model | TableModel:
    """Load a model from its file, or from the folder of a run."""
    return load(model_file(path))


def load_flow(path: Path) -> Model:
    """Load a recorded flow from its file, or from the folder of a run."""
    model = load_model(path)
    if isinstance(model, TableModel):
        raise ValueError(f"{path} is a model of a table: pass one of images, or use sample --given")
    return model


def conditions(model: Model, y: str | None, n: int) -> np.ndarray | None:
    """Return y for n samples, from the value of --y."""
    codec = model.codec
    if codec.condition.mask is not None:
        raise ValueError("the model fills in images: use sliceflow inpaint")
    if codec.classes is not None:
        return _labels(codec.classes, y, n)
    if codec.condition.l:
        return _columns(codec, y, n)
    if y is not None:
        raise ValueError("the model is unconditional: leave out --y")
    return None


def _labels(classes: np.ndarray, y: str | None, n: int) -> np.ndarray:
    if y is None:
        return np.sort(np.resize(classes, n))
    return np.full(n, _known(y, classes))


def _columns(codec: Codec, y: str | None, n: int) -> np.ndarray:
    l, texts = codec.n_given, [] if y is None else y.split(",")
    words = (None,) * l if codec.words is None else codec.words.columns
    if len(texts) != l:
        names = ", ".join(codec.names[-l:]) or f"{l} columns"
        example = ",".join("2.5" if known is None else str(known[0]) for known in words)
        kind = "number" if codec.words is None else "value"
        raise ValueError(f"pass --y with a {kind} for each of {names}, such as --y {example}")
    pairs = zip(texts, words, strict=True)
    values = [_number(text) if known is None else _known(text, known) for text, known in pairs]
    return np.tile(np.array(values, dtype=float if codec.words is None else object), (n, 1))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"--y {text} is not a number: pass one, such as --y 2.5") from error


def _known(text: str, labels: np.ndarray) -> Any:
    """Return the label that is written like this."""
    known = {str(label): label for label in labels}
    if text not in known:
        raise ValueError(f"--y {text} is not one of the model's labels: it has {', '.join(known)}")
    return known[text]


def check_picture(out: Path, model: Model, name: str, n: int, each: int = 1) -> None:
    """Refuse a picture of n times ``each`` images that programs would refuse to open."""
    if out.suffix.lower() == ".png":
        pixels = each * math.prod((side + GAP) * zoom_of(model.shape) for side in model.shape[1:])
        if n * pixels > MAX_PIXELS:
            raise ValueError(
                f"{name}={n} is too large for one picture: pass {name}={MAX_PIXELS // pixels} or "
                "less, or save arrays instead, as --out samples.npz"
            )


def output_path(out: Path | None, model: Model) -> Path:
    """Return the path to save samples to, if its suffix is one that fits them."""
    is_images = len(model.shape) == 3
    out = out or Path("samples.png" if is_images else "samples.csv")
    if out.suffix.lower() not in ((".png", ".npz", "") if is_images else (".csv", ".npz")):
        fits = ".png or .npz, or be a folder" if is_images else ".csv or .npz"
        raise ValueError(f"--out {out} does not fit the samples: it has to end in {fits}")
    out.parent.mkdir(parents=True, exist_ok=True)
    return out


def save_samples(out: Path, model: Model, x: np.ndarray, y: np.ndarray | None) -> None:
    """Save samples in the format that the suffix names."""
    kind = out.suffix.lower()
    if kind == ".npz":
        with replacing(out) as file:
            np.savez_compressed(file, **arrays_of(model, x, y))  # type: ignore[arg-type]
    elif kind == ".csv":
        save_csv(out, model.codec.columns, columns_of(x, y))
    elif kind == ".png":
        save_picture(sheet(x, None if model.codec.classes is None else y), out)
    else:
        _save_folder(out, x, y)


def _save_folder(out: Path, pixels: np.ndarray, y: np.ndarray | None) -> None:
    """Save each image as a file, in a subfolder for its label."""
    for number, image in enumerate(pixels):
        place = out if y is None else out / folder_name(str(y[number]))
        place.mkdir(parents=True, exist_ok=True)
        lines = image[0] if len(image) == 1 else image.transpose(1, 2, 0)
        with replacing(place / f"{number:05}.png", sync=False) as file:
            Image.fromarray(lines).save(file, "PNG")


def folder_name(label: str) -> str:
    """Return a folder name for a label, with unsafe characters percent-encoded.

    Labels may come from untrusted files. Different labels get different names.
    """
    name = "".join(c if _is_safe(c) else quote(c, "", errors="surrogatepass") for c in label)
    name = f"%2E{name[1:]}" if name.startswith(".") else name or "%"
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        digest = hashlib.sha256(name.encode()).hexdigest()
        return f"{name[:KEPT_CHARACTERS]}%{digest[:16]}"
    return name


def _is_safe(character: str) -> bool:
    return character.isprintable() and character not in '/\\:*?"<>|%'


def inpaint(
    model: Model, images: np.ndarray, n: int, seed: int | None, device: str = "cpu"
) -> np.ndarray:
    """Return n samples for each image: (images, n, C, h, w)."""
    if model.codec.condition.mask is not None and not model.codec.x.is_pixels:
        raise ValueError("the model has images of floats: use model.inpaint in Python")
    samples: np.ndarray = model.inpaint(images, n, seed, output="numpy", device=device)
    return samples


def save_inpainted(out: Path, model: Model, images: np.ndarray, samples: np.ndarray) -> None:
    """Save the observed part of images, their samples, and the images themselves."""
    mask = model.codec.condition.mask
    assert mask is not None
    if out.suffix.lower() == ".png":
        given = mask.reshape(model.shape).numpy()
        save_picture(draw(triptych(images, given, samples), zoom_of(model.shape)), out)
    else:
        save_samples(out, model, samples.reshape(-1, *model.shape), None)
