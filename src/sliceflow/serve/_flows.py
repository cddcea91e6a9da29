"""Recorded flows as a service: requests share the batches in which particles are moved.

A batch takes as long for one particle as for 256, and the bits of a particle do not depend on the
others. So parts of several requests are moved in one batch.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
import torch

from sliceflow.core._memory import check_memory
from sliceflow.model import Model, Part
from sliceflow.runs._run import picture_of, zoom_of
from sliceflow.runs._samples import MAX_PIXELS, arrays_of, as_bytes, columns_of
from sliceflow.serve._answers import Answer, ColumnsAnswer, ImagesAnswer, has_arrow
from sliceflow.serve._given import describe_given, example_of, y_of
from sliceflow.serve._limits import MAX_VALUES
from sliceflow.serve._pictures import read_pictures
from sliceflow.serve._problems import ProblemError
from sliceflow.serve._requests import ImputeRequest, InpaintRequest, SamplesRequest
from sliceflow.serve._services import as_problems, check_format, with_warnings
from sliceflow.viz import GAP, draw, triptych

NO_IMPUTING = (
    "{} is a flow, which fills no gaps of rows: send what is known to /samples as given, or images "
    "to /inpaint; or fit the table without y and observed"
)


@dataclass(eq=False)
class FlowWork:
    """Samples of one request, drawn part by part.

    Parameters
    ----------
    service
        The flow.
    left
        The parts that are not drawn yet, in order.
    answer_of
        Returns the answer with samples x.
    warnings
        What the client should know.
    """

    service: "FlowService"
    left: list[Part]
    answer_of: Callable[[np.ndarray], Answer]
    warnings: list[str]
    n: int = 0
    drawn: dict[int, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.n = sum(map(len, self.left))

    @property
    def is_done(self) -> bool:
        """Whether all parts are drawn."""
        return not self.left

    def add(self, part: Part, x: np.ndarray) -> None:
        """Keep the samples of a part."""
        self.left.remove(part)
        self.drawn[part.first] = x

    def answer(self) -> Answer:
        """Return the samples in order."""
        return self.answer_of(as_bytes(np.concatenate([x for _, x in sorted(self.drawn.items())])))


@dataclass(frozen=True, eq=False)
class FlowService:
    """A recorded flow that is served."""

    name: str
    model: Model

    @cached_property
    def is_images(self) -> bool:
        """Whether samples are images."""
        return len(self.model.shape) == 3

    @cached_property
    def fills_images(self) -> bool:
        """Whether the model fills in images."""
        return self.is_images and self.model.codec.condition.mask is not None

    @cached_property
    def formats(self) -> list[str]:
        """The formats of answers."""
        return ["json", "png" if self.is_images else "csv", "npz", *["arrow"] * has_arrow()]

    def about(self) -> dict[str, Any]:
        """Describe the model."""
        return {
            "name": self.name,
            "kind": "images" if self.is_images else "table",
            "shape": list(self.model.shape),
            "formats": self.formats,
            "does": ["inpaint" if self.fills_images else "samples"],
            "given": describe_given(self.model),
        } | ({} if self.is_images else {"columns": list(self.model.codec.columns)})

    def samples(self, body: SamplesRequest, seed: int) -> FlowWork:
        """Return the work of drawing samples."""
        if self.fills_images:
            raise ProblemError(422, f"{self.name} fills in images: send some to /inpaint")
        model, n = self.model, body.n
        self._check(body.format, n, n)
        with as_problems():
            y = y_of(model, n, body.given)
        parts, warnings = with_warnings(lambda: self._parts(n, y, seed))
        is_observed = model.codec.condition.mask is not None

        def answer_of(x: np.ndarray) -> Answer:
            return self._answer(x, None if is_observed else y)

        return FlowWork(self, parts, answer_of, warnings)

    def inpaint(self, body: InpaintRequest, seed: int) -> FlowWork:
        """Return the work of filling in images."""
        mask = self.model.codec.condition.mask
        if not self.fills_images or mask is None:
            detail = f'{self.name} does not fill in images: fit one with observed="left", say'
            raise ProblemError(422, f"{detail}, or send the request to /samples")
        if not self.model.codec.x.is_pixels:
            raise ProblemError(
                422, f"{self.name} has images of floats: use model.inpaint in Python"
            )
        n = len(body.images) * body.n
        self._check(body.format, n, n + 2 * len(body.images))
        with as_problems():
            images = read_pictures(body.images, self.model.shape)
        each = np.repeat(images, body.n, axis=0)
        parts, warnings = with_warnings(lambda: self._parts(n, each, seed))
        given = mask.reshape(self.model.shape).numpy()

        def answer_of(x: np.ndarray) -> Answer:
            samples = x.reshape(len(images), body.n, *self.model.shape)
            zoom = zoom_of(self.model.shape)
            arrays = arrays_of(self.model, x, None)
            return ImagesAnswer(
                samples, arrays, None, lambda: draw(triptych(images, given, samples), zoom)
            )

        return FlowWork(self, parts, answer_of, warnings)

    def impute(self, body: ImputeRequest, seed: int) -> FlowWork:
        """Refuse: rows are completed by a model of a table."""
        raise ProblemError(422, NO_IMPUTING.format(self.name))

    def advance(self, works: Sequence[FlowWork]) -> None:
        """Move a group of parts on each thread; requests take turns."""
        groups = filled(works, self.model.group_size, torch.get_num_threads())
        drawn = self.model.sample_parts([[p for _, p in group] for group in groups], output="numpy")
        for group, samples in zip(groups, drawn, strict=True):
            for (work, part), x in zip(group, samples, strict=True):
                work.add(part, x)

    def warm_up(self) -> None:
        """Draw one sample, given anything that it can be given."""
        self.model.sample_parts([self._parts(1, example_of(self.model), 0)], output="numpy")

    def _parts(self, n: int, y: Any, seed: int) -> list[Part]:
        """Return the parts in which n samples given y are drawn."""
        check_memory("n", n, self.model.bytes_of_sample)
        given, size = self.model.codec.given(n, y), self.model.part_size
        return [Part(seed, i, given[..., i : i + size]) for i in range(0, n, size)]

    def _check(self, format: str, n: int, pictured: int) -> None:
        """Refuse formats that do not fit the samples, and answers that would be too large."""
        check_format(self.name, format, self.formats)
        values = math.prod(self.model.shape)
        if format == "json" and n * values > MAX_VALUES:
            most = MAX_VALUES // values
            raise ProblemError(
                422, f"{n} samples are too many for JSON: ask for {most}, or for npz"
            )
        sides, zoom = self.model.shape[1:], zoom_of(self.model.shape)
        pixels = math.prod((side + GAP) * zoom for side in sides)
        if format == "png" and pictured * pixels > MAX_PIXELS:
            raise ProblemError(
                422, f"{n} samples are too many for one picture: ask for fewer, or npz"
            )

    def _answer(self, x: np.ndarray, y: np.ndarray | None) -> Answer:
        arrays = arrays_of(self.model, x, y)
        if not self.is_images:
            return ColumnsAnswer(self._names(y), columns_of(x, y), arrays)
        labels = None if self.model.codec.classes is None else y
        return ImagesAnswer(x, arrays, labels, lambda: picture_of(x, labels))

    def _names(self, y: np.ndarray | None) -> Sequence[str]:
        names = self.model.codec.columns
        return names if y is not None else names[: math.prod(self.model.shape)]


def filled(
    works: Sequence[FlowWork], size: int, n_groups: int
) -> list[list[tuple[FlowWork, Part]]]:
    """Return groups of at most ``size`` samples, filled with parts of requests in turn."""
    groups: list[list[tuple[FlowWork, Part]]] = [[] for _ in range(n_groups)]
    room = [size] * n_groups
    for work, part in _in_turn(works):
        place = next((i for i in range(n_groups) if room[i] >= len(part)), None)
        if place is not None:
            groups[place].append((work, part))
            room[place] -= len(part)
        if not any(room):
            break
    return [group for group in groups if group]


def _in_turn(works: Sequence[FlowWork]) -> Iterator[tuple[FlowWork, Part]]:
    """Yield the first part of each request, then the second of each, and so on."""
    for turn in zip_longest(*(work.left for work in works)):
        yield from ((w, part) for w, part in zip(works, turn, strict=True) if part is not None)
