"""Recorded flows as a service: requests share the batches in which particles are moved.

A batch takes as long for one particle as for 256, and the bits of a particle do not depend on the
others. So parts of several requests are moved in one batch.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sliceflow.core._groups import SAMPLE_BATCH
from sliceflow.core._memory import check_memory
from sliceflow.model import Model, Part
from sliceflow.runs._samples import MAX_PIXELS, arrays_of, as_bytes, columns_of
from sliceflow.serve._answers import Answer, ColumnsAnswer, ImagesAnswer, has_arrow
from sliceflow.serve._given import describe_given, example_of, y_of
from sliceflow.serve._limits import MAX_VALUES
from sliceflow.serve._pictures import read_pictures
from sliceflow.serve._problems import ProblemError
from sliceflow.serve._requests import ImputeRequest, InpaintRequest, SamplesRequest
from sliceflow.serve._services import as_problems, check_format, with_warnings
from sliceflow.viz import GAP, draw, sheet, triptych, zoom_of

NO_IMPUTING = (
    "{} is a flow, which fills no gaps of rows: send what is known to /samples as given, or images "
    "to /inpaint; or fit the table without y and observed"
)


MAX_TIMES = 2
"""How many times larger groups may be. It saves a sixth of the time; who waits, waits longer."""


@dataclass(eq=False)
class FlowWork:
    """Samples of one request, drawn part by part.

    Parameters
    ----------
    service
        The flow.
    seed
        The seed.
    given
        The conditions of all samples.
    answer_of
        Returns the answer with samples x.
    warnings
        What the client should know.
    """

    service: "FlowService"
    seed: int
    given: Tensor
    answer_of: Callable[[np.ndarray], Answer]
    warnings: list[str]
    drawn: list[np.ndarray] = field(default_factory=list)

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.given.shape[-1]

    @property
    def n_drawn(self) -> int:
        """The number of samples that are drawn."""
        return sum(map(len, self.drawn))

    @property
    def is_done(self) -> bool:
        """Whether all samples are drawn."""
        return self.n_drawn == self.n

    def part(self, first: int, size: int) -> Part:
        """Return at most so many samples, from the one with this number."""
        return Part(self.seed, first, self.given[..., first : first + size])

    def answer(self) -> Answer:
        """Return the samples."""
        return self.answer_of(as_bytes(np.concatenate(self.drawn)))


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
        given, warnings = self._given(n, y)
        is_observed = model.codec.condition.mask is not None

        def answer_of(x: np.ndarray) -> Answer:
            return self._answer(x, None if is_observed else y)

        return FlowWork(self, seed, given, answer_of, warnings)

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
        given, warnings = self._given(n, each)
        observed = mask.reshape(self.model.shape).numpy()

        def answer_of(x: np.ndarray) -> Answer:
            samples = x.reshape(len(images), body.n, *self.model.shape)
            zoom = zoom_of(self.model.shape)
            arrays = arrays_of(self.model, x, None)
            return ImagesAnswer(
                samples, arrays, None, lambda: draw(triptych(images, observed, samples), zoom)
            )

        return FlowWork(self, seed, given, answer_of, warnings)

    def impute(self, body: ImputeRequest, seed: int) -> FlowWork:
        """Refuse: rows are completed by a model of a table."""
        raise ProblemError(422, NO_IMPUTING.format(self.name))

    def has_room(self, works: Sequence[FlowWork]) -> bool:
        """Return whether each thread could move more samples in the same time."""
        return self._times_full(works) < 1

    def advance(self, works: Sequence[FlowWork]) -> set[FlowWork]:
        """Move a group of parts on each thread; a larger one, if that would be full too."""
        model, threads = self.model, torch.get_num_threads()
        size = model.group_size * min(max(1, int(self._times_full(works))), MAX_TIMES)
        groups = filled(works, size, threads, model.adds_noise)
        drawn = model.sample_parts(
            [[part for _, part in group] for group in groups], output="numpy"
        )
        for (work, _), x in zip(chain(*groups), chain(*drawn), strict=True):
            work.drawn.append(x)
        return {work for work, _ in chain(*groups)}

    def _times_full(self, works: Sequence[FlowWork]) -> float:
        """Return how many groups of each thread the samples would fill that are not yet drawn."""
        n_left = sum(work.n - work.n_drawn for work in works)
        return n_left / (self.model.group_size * torch.get_num_threads())

    def warm_up(self) -> None:
        """Draw one sample, given anything that it can be given."""
        self.model.sample(1, example_of(self.model), random_state=0)

    def _given(self, n: int, y: Any) -> tuple[Tensor, list[str]]:
        """Return the conditions of n samples given y, and warnings about them."""
        with as_problems():
            check_memory("n", n, self.model.bytes_of_sample)
        return with_warnings(lambda: self.model.codec.given(n, y))

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
        return ImagesAnswer(x, arrays, labels, lambda: sheet(x, labels))

    def _names(self, y: np.ndarray | None) -> Sequence[str]:
        names = self.model.codec.columns
        return names if y is not None else names[: math.prod(self.model.shape)]


def filled(
    works: Sequence[FlowWork], size: int, n_groups: int, whole: bool
) -> list[list[tuple[FlowWork, Part]]]:
    """Return groups of at most ``size`` samples, filled with parts of requests in turn.

    A part is at most a batch, and is cut if a group has no more room. If it has to be ``whole``, it
    has a group for itself.
    """
    groups: list[list[tuple[FlowWork, Part]]] = []
    room, begun = 0, {work: work.n_drawn for work in works}
    while waiting := [work for work in works if begun[work] < work.n]:
        for work in waiting:
            if not room:
                if len(groups) == n_groups:
                    return groups
                groups.append([])
                room = size
            part = work.part(begun[work], size if whole else min(room, SAMPLE_BATCH))
            groups[-1].append((work, part))
            begun[work] += len(part)
            room = 0 if whole else room - len(part)
    return groups
