"""The model card: describes a model to a person who finds its file."""

from collections.abc import Iterator, Mapping
from dataclasses import astuple
from textwrap import shorten

from sliceflow.codec._codec import Codec
from sliceflow.files._archive import CARD, PICTURE
from sliceflow.flow._spec import Spec

MAX_GIVEN = 200
"""Maximum number of characters of what samples are given, among the facts."""


def card_parts(
    spec: Spec,
    codec: Codec,
    picture: bytes | None,
    about: str,
    metrics: Mapping[str, float],
) -> Iterator[tuple[str, bytes]]:
    """Yield the card, in Markdown, and the picture of samples that it shows, if there is one."""
    if picture is not None:
        yield PICTURE, picture
    yield CARD, _text(spec, codec, about, metrics, picture is not None).encode()


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


def facts_of(spec: Spec, codec: Codec, n_bytes: int) -> dict[str, object]:
    """Return facts about a model, of which so many bytes are recorded, for a notebook."""
    sides, steps = "×".join(map(str, spec.shape)), sum(stage.steps for stage in spec.schedule)
    given, _ = _given(codec)
    return {
        "draws": f"images of {sides}" if len(spec.shape) == 3 else f"rows of {sides} columns",
        "given": shorten(given.removeprefix("given "), MAX_GIVEN),
        "steps": f"{steps:,}, by {spec.engine}",
        "size": f"{n_bytes / 1e6:.3g} MB",
        "seed": spec.seed,
    }


def _table(head: str, rows: list[str]) -> str:
    if not rows:
        return ""
    rule = "|".join(["---"] * (head.count("|") + 1))
    return "\n".join(f"| {row} |" for row in (head, *rows)).replace("\n", f"\n|{rule}|\n", 1)
