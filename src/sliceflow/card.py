"""The model card: what a model is, for a person who finds its file."""

import io
from collections.abc import Mapping

import numpy as np
import torch

from sliceflow.conditions import Label, Unconditional
from sliceflow.model import FlowModel
from sliceflow.viz import draw, grid

EXAMPLES = 80
"""Samples in the picture of a model."""


def card_picture(model: FlowModel) -> bytes | None:
    """Return a grid of samples, if the model has images and can be asked for some, as PNG."""
    if model.kind.dtype != torch.uint8 or type(model.condition) not in (Unconditional, Label):
        return None
    y = None if model.classes is None else np.resize(model.classes, EXAMPLES)
    samples = np.asarray(model.sample(EXAMPLES, y))
    file = io.BytesIO()
    draw(grid(samples, columns=min(10, model.condition.l or 10)), 2).save(file, "PNG")
    return file.getvalue()


def card_text(model: FlowModel, about: str, metrics: Mapping[str, float], has_picture: bool) -> str:
    """Return the model card, in Markdown."""
    steps = sum(stage.steps for stage in model.schedule)
    lines = [
        f"# {about or 'A sliced-Wasserstein flow'}",
        "",
        f"Samples of shape {model.shape}, condition: {type(model.condition).__name__}. A recorded",
        f"flow of {steps} steps in {len(model.schedule)} stages ({type(model.engine).__name__}), "
        f"seed {model.seed}.",
        "",
    ]
    if has_picture:
        lines += ["![Samples, not picked](samples.png)", ""]
    if metrics:
        lines += ["| measured | value |", "|---|---|"]
        lines += [f"| {name} | {value:.4g} |" for name, value in metrics.items()] + [""]
    lines += ["    import sliceflow", "    model = sliceflow.load(path)  # of this file"]
    lines += ["    samples = model.sample(100)", ""]
    return "\n".join(lines)
