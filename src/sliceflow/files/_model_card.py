"""The model card: describes a model to a person who finds its file."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import astuple

import numpy as np

from sliceflow.codec._codec import Codec
from sliceflow.files._archive import CARD, PICTURE
from sliceflow.flow._spec import Spec
from sliceflow.viz import draw, grid


def card_parts(
    spec: Spec,
    codec: Codec,
    samples: np.ndarray | None,
    about: str,
    metrics: Mapping[str, float],
) -> Iterator[tuple[str, bytes]]:
    """Yield the card, in Markdown, and the picture that it shows, if there are samples."""
    if samples is not None:
        yield PICTURE, _picture(samples, columns=min(10, codec.condition.l or 10))
    yield CARD, _text(spec, codec, about, metrics, samples is not None).encode()


def _picture(samples: np.ndarray, columns: int) -> bytes:
    file = io.BytesIO()
    draw(grid(samples, columns), 2).save(file, "PNG")
    return file.getvalue()


def _text(
    spec: Spec, codec: Codec, about: str, metrics: Mapping[str, float], has_picture: bool
) -> str:
    given, y = _given(codec)
    parts = [
        f"# {about or 'A sliced-Wasserstein flow'}",
        f"Draws x of shape {spec.shape}, {given}.",
        "![Samples, not picked](samples.png)" if has_picture else "",
        f"    import sliceflow\n    x = sliceflow.load(path).sample(100{y})  # path of this file",
        _table("measured | value", [f"{name} | {value:.4g}" for name, value in metrics.items()]),
        f"Recorded with {spec.engine} and seed {spec.seed}, in these stages:",
        _table(
            "steps | resolution | patch | band | shared maps | step size",
            [" | ".join(map(str, astuple(stage))) for stage in spec.schedule],
        ),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _given(codec: Codec) -> tuple[str, str]:
    """Return what samples are conditioned on, in words and in the call."""
    if codec.classes is not None:
        labels = codec.classes.tolist()
        return f"given a label: {', '.join(map(str, labels))}", f", y={labels[0]!r}"
    if codec.condition.l:
        names = ", ".join(codec.columns[-codec.n_given :])
        return f"given {names}", f", y=[{names}]"
    if codec.condition.mask is not None:
        return "given a part of it", ", y=rows"
    return "unconditionally", ""


def _table(head: str, rows: list[str]) -> str:
    if not rows:
        return ""
    rule = "|".join(["---"] * (head.count("|") + 1))
    return "\n".join(f"| {row} |" for row in (head, *rows)).replace("\n", f"\n|{rule}|\n", 1)
