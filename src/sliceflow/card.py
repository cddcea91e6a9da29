"""The model card, which describes a model to people who find its file."""

import io
from collections.abc import Mapping
from dataclasses import astuple

import numpy as np
import torch

from sliceflow.conditions import Columns, Label, Observed, Unconditional
from sliceflow.model import FlowModel
from sliceflow.viz import draw, grid

EXAMPLES = 80
"""Number of samples in the picture of a model."""


def card_picture(model: FlowModel) -> bytes | None:
    """Return a grid of samples as PNG, if the model draws images without further input."""
    needs_no_input = type(model.condition) in (Unconditional, Label)
    is_picture = len(model.shape) == 3 and model.shape[0] <= 4
    if not needs_no_input or not is_picture or model.kind.dtype != torch.uint8:
        return None
    y = None if model.classes is None else np.resize(model.classes, EXAMPLES)
    samples = torch.as_tensor(model.sample(EXAMPLES, y, model.seed)).cpu().numpy()
    file = io.BytesIO()
    draw(grid(samples, columns=min(10, model.condition.l or 10)), 2).save(file, "PNG")
    return file.getvalue()


def card_text(model: FlowModel, about: str, metrics: Mapping[str, float], has_picture: bool) -> str:
    """Return the model card, in Markdown."""
    given, y = _given(model)
    parts = [
        f"# {about or 'A sliced-Wasserstein flow'}",
        f"Draws x of shape {model.shape}, {given}.",
        "![Samples, not cherry-picked](samples.png)" if has_picture else "",
        f"    import sliceflow\n    x = sliceflow.load(path).sample(100{y})  # of this file",
        _table("measured | value", [f"{name} | {value:.4g}" for name, value in metrics.items()]),
        f"Recorded with {model.engine} and seed {model.seed}, in these stages:",
        _table(
            "steps | resolution | patch | band | shared maps",
            [" | ".join(map(str, astuple(stage))) for stage in model.schedule],
        ),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _given(model: FlowModel) -> tuple[str, str]:
    """Return the condition of samples, in words and as an argument of `sample`."""
    if model.classes is not None:
        labels = model.classes.tolist()
        return f"given a label: {', '.join(map(str, labels))}", f", y={labels[0]!r}"
    if isinstance(model.condition, Columns):
        return f"given {model.condition.l} columns", ", y=columns"
    if isinstance(model.condition, Observed):
        return "given a part of it", ", y=rows"
    return "unconditionally", ""


def _table(head: str, rows: list[str]) -> str:
    if not rows:
        return ""
    rule = "|".join(["---"] * (head.count("|") + 1))
    return "\n".join(f"| {row} |" for row in (head, *rows)).replace("\n", f"\n|{rule}|\n", 1)
