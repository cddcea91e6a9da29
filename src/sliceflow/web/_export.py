"""Writing the page: the scripts in `static/` as they are, and a model that loads quickly."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment

from sliceflow.core._atomic import write_text
from sliceflow.flow._engines import Fast
from sliceflow.model import Model

MODEL, PAGE = "model.zip", "index.html"

MAX_MEGABYTES = 10.0
"""Maximum size of a model, if its maps can be made small enough."""

KNOTS, BITS = (32, 24, 16), 8
"""Numbers of knots that are tried, and the bits of each position and displacement."""

N_SHOWN = 40
"""Number of samples that the page draws at first."""


def export_page(model: Model, folder: Path, title: str) -> float:
    """Write the page for a model of images; return the size of its model in MB."""
    if not can_be_sampled(model):
        raise ValueError("the page samples images, fitted with the engine Fast: pass such a model")
    folder.mkdir(parents=True, exist_ok=True)
    for file in files("sliceflow.web").joinpath("static").iterdir():
        text = file.read_text("utf-8")
        if file.name == PAGE:
            text = Environment(autoescape=True).from_string(text).render(title=title, n=N_SHOWN)
        write_text(folder / file.name, text)
    for knots in KNOTS:
        smaller(model, knots).save(folder / MODEL, title)
        megabytes = (folder / MODEL).stat().st_size / 1e6
        if megabytes <= MAX_MEGABYTES:
            break
    return megabytes


def can_be_sampled(model: Model) -> bool:
    """Return whether the page can sample a model."""
    return len(model.shape) == 3 and isinstance(model.spec.engine, Fast)


def smaller(model: Model, knots: int) -> Model:
    """Return the model with fewer knots in each map, and fewer bits in each knot."""
    maps = [T.unpacked().thinned(knots).packed(BITS) for T in model.record.maps]
    return replace(model, record=replace(model.record, maps=maps))
