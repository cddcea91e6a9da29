"""A recorded flow: new samples by its maps, without the data (the paper's offline samples)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile
from threading import Lock
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from sliceflow._memory import check_memory
from sliceflow._random import Draw, Random, child
from sliceflow._scaling import Scaling
from sliceflow._support import Support
from sliceflow._threads import parallel
from sliceflow._validation import (
    Kind,
    check_given_bytes,
    check_given_columns,
    check_given_labels,
    check_given_rows,
    check_integer,
    check_seed,
    numbered_names,
)
from sliceflow.conditions import Columns, Condition, Label, Observed
from sliceflow.course import Course, Record, Setting, State
from sliceflow.distributed import Work
from sliceflow.engines import Engine
from sliceflow.flow import Flow
from sliceflow.progress import Progress
from sliceflow.projections import Block, Operator, slices
from sliceflow.schedules import Stage
from sliceflow.starts import Sampler
from sliceflow.transport import PackedMap

SWARM = 256
"""Samples that are moved together, always as many: the bits of a product change with its shape."""

DRAWN = 2**28
"""Bytes of directions that are kept from one batch to the next: drawing them takes its time."""

AT_ONCE = 1024
"""Samples that a thread has in memory at a time."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """The maps of a step, as recorded."""

    maps: PackedMap
    width = 0

    def __call__(
        self, theta: Block, rows: slice, zs: list[Tensor]
    ) -> Work[tuple[list[Tensor], None]]:
        """Return T(z) − z, with the values z of each swarm along these directions, rows of A."""
        T = self.maps[rows]
        for z in zs:
            T.move(z)
        yield from ()  # nothing has to be merged
        return zs, None


@dataclass
class Drawn:
    """Directions of the first stages, as many as there is room for.

    Those of a stage are drawn together, before it begins: among all that a step takes and gives
    back, what stays would lie far apart, and the holes between would be of no use.
    """

    room: int = DRAWN
    stages: dict[int, list[Operator]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def of(self, stage: int, draws: Iterator[Operator]) -> list[Operator]:
        """Return those of a stage, drawn if need be: of all steps, or of the first ones."""
        with self.lock:
            if stage not in self.stages:
                self.stages[stage] = list(takewhile(self._fits, draws))
            return self.stages[stage]

    def _fits(self, A: Operator) -> bool:
        self.room -= A.nbytes
        return self.room >= 0

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()  # a copy draws them again


@dataclass(frozen=True, eq=False)
class FlowModel(Course):
    """A flow without its data and its particles: sample from it as often as you like.

    A sample depends on the model, the seed, its number and its condition alone: the bits are the
    same however many are drawn with it, and on any number of threads.

    Parameters
    ----------
    condition, shape, schedule, engine, entropy, fixed_directions, seed
        Those of the flow.
    start
        The law of x where particles start.
    record
        The axes of its stages and the maps of its steps.
    support
        Where the data has conditions.
    scaling, kind, classes, names
        How the data was written: its units, the kind of array, what labels it had, and what the
        columns of x, and those of y after them, are called, if they have names.
    random
        How the flow made its draws: from files of version 1, as NumPy does.
    """

    condition: Condition
    shape: tuple[int, ...]
    schedule: tuple[Stage, ...]
    engine: Engine
    entropy: float
    fixed_directions: bool
    seed: int
    start: Sampler
    record: Record
    support: Support
    scaling: Scaling
    kind: Kind
    classes: np.ndarray | None
    names: tuple[str, ...] = ()
    random: type[Random] = Random
    _settings: dict[int, Setting] = field(default_factory=dict, init=False, repr=False)
    _drawn: Drawn = field(default_factory=Drawn, init=False, repr=False)

    @classmethod
    def of(
        cls,
        flow: Flow,
        state: State,
        support: Support,
        scaling: Scaling,
        kind: Kind,
        classes: np.ndarray | None,
        names: tuple[str, ...] = (),
    ) -> Self:
        """Return the model of a flow that was recorded, in its last state."""
        assert state.record is not None
        return cls(
            flow.condition,
            flow.shape,
            flow.schedule,
            flow.engine,
            flow.entropy,
            flow.fixed_directions,
            flow.seed,
            flow.sampler,
            state.record,
            support,
            scaling,
            kind,
            classes,
            names,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of a table and, after them, of y."""
        given = self.condition.l if self.classes is None else 1
        return self.names or numbered_names(math.prod(self.shape), given)

    @property
    def bytes_of_sample(self) -> int:
        """The least memory that a sample takes: in its batch, and joined with the others."""
        return 2 * math.prod(self.shape) * self.kind.dtype.itemsize

    def sample(self, n: int, y: Any = None, random_state: Any = None, verbose: bool = False) -> Any:
        """Return n new samples of x, given y if the model is conditional.

        Parameters
        ----------
        n : int
            How many.
        y : label, columns, or row of x, or n of them
            The condition, one for all samples or one for each. Of rows of x only the observed
            coordinates are read (the others may be NaN), and they come back as they are. The
            columns of a data frame are found by name. A number beyond the data counts as the
            nearest that the data has, with a warning.
        random_state : int, NumPy generator or None
            The seed of these samples: the same one gives the same samples. By default each call
            gives new ones.
        verbose : bool
            Show progress.
        """
        n = check_integer("n", n, 1)
        check_memory("n", n, self.bytes_of_sample)
        seed, given = check_seed(random_state), self._given(n, y)
        if len(self.support.given):
            values = given[self.support.given] if self.condition.freezes_x else given
            self.support.warn_beyond(values, self.columns)
        batches = _batches(n)
        with Progress(self.schedule, times=len(batches), show=verbose) as progress:

            def moved(some: slice) -> Any:
                z = self._joined(given[..., some])
                return self._moved(z, seed, some.start // SWARM, progress)

            with torch.inference_mode():  # steps are short, and this makes them shorter
                parts = parallel(moved, batches)
        return self.kind.joined(parts)

    def inpaint(self, images: Any, n: int = 1, random_state: Any = None) -> Any:
        """Return n samples for each image, of which observed pixels are read: (images, n, …)."""
        check_memory("n", check_integer("n", n, 1), len(images) * self.bytes_of_sample)
        each = torch.as_tensor(images).repeat_interleave(n, dim=0)
        samples = self.sample(len(each), each, random_state)
        return samples.reshape(-1, n, *self.shape)

    def _given(self, n: int, y: Any) -> Tensor:
        """Return what is given of n samples, along the last dimension."""
        if isinstance(self.condition, Observed):
            mask = self.condition.mask.reshape(self.shape)
            rows = check_given_rows(y, n, mask, self.names)
            if self.kind.dtype == torch.uint8 and len(self.shape) == 3:
                check_given_bytes(rows, mask)
            return rows
        if isinstance(self.condition, Label):
            assert self.classes is not None
            return check_given_labels(y, n, self.classes)
        if isinstance(self.condition, Columns):
            return check_given_columns(y, n, self.condition.l, self.names[-self.condition.l :])
        if y is not None:
            raise ValueError("the model is unconditional: fit(x, y) to sample with y")
        return torch.empty(0, n)

    def _joined(self, given: Tensor) -> Tensor:
        """Return particles (D, n), in the units of the data, that hold what is given."""
        if isinstance(self.condition, Observed):
            return given
        x = torch.zeros(math.prod(self.shape), given.shape[-1], dtype=torch.float64)
        return self.condition.join(x, given)

    def _moved(self, z: Tensor, seed: int, first: int, progress: Progress) -> Any:
        """Return samples for particles z that hold what is given; their first swarm's number."""
        n, free = z.shape[1], self.condition.free
        numbers = range(first, first + math.ceil(n / SWARM))
        seeds = [child(seed, number) for number in numbers]
        padded = torch.cat([z, z[:, -1:].expand(-1, len(seeds) * SWARM - n)], dim=1)
        padded = self.scaling.forward(self.support.clip(padded))
        swarms = [padded[:, some].contiguous() for some in slices(padded.shape[1], SWARM)]
        for swarm, own in zip(swarms, seeds, strict=True):
            x = self.start(self.random(own, Draw.OFFLINE_START), swarm)
            self.condition.set_free(swarm, x)
        noise = [(own, Draw.OFFLINE_NOISE) for own in seeds]
        state = self.run(State(swarms, noise), [progress])
        moved = self.scaling.back(torch.cat(state.swarms, dim=1)[:, :n])
        z = z.clone()
        z[free] = moved[free]  # the rest comes back as it was given
        x, _ = self.condition.split(z)
        _check_samples(x, self.kind.dtype)
        return self.kind.back(x.T.reshape(-1, *self.shape))

    def setting(self, state: State) -> Setting:
        """Return what the steps of this stage share."""
        if state.stage not in self._settings:
            stage, axes = self.schedule[state.stage], self.record.axes[state.stage]
            level = self.engine.level(stage, self.shape, state.swarms[0])
            law = self.engine.directions(stage, self.shape, self.condition, axes)
            self._settings[state.stage] = Setting(level, law)
        return self._settings[state.stage]

    def directions(self, state: State, like: Tensor) -> Operator:
        """Return the directions of this step, drawn once for all batches if there is room."""
        steps = (replace(state, step=i) for i in range(self.schedule[state.stage].steps))
        draw = super().directions
        drawn = self._drawn.of(state.stage, (draw(step, like) for step in steps))
        return drawn[state.step] if state.step < len(drawn) else draw(state, like)

    def transport(self, state: State, A: Operator, us: list[Tensor]) -> Recorded:
        """Return the maps that were recorded in this step."""
        return Recorded(self.record.maps[self.steps_done(state)])


def _check_samples(x: Tensor, dtype: torch.dtype) -> None:
    """Refuse samples that would be NaN or infinite as numbers of this type; bytes would hide it."""
    largest = torch.finfo(dtype if dtype.is_floating_point else x.dtype).max
    if not (x.abs() <= largest).all():
        raise FloatingPointError(
            "the samples are not finite: the model is damaged, or its data too large for "
            f"{dtype}; fit it again, with smaller values"
        )


def _batches(n: int) -> list[slice]:
    """Cut n samples into batches of whole swarms: each is moved by one thread, from start to end.

    A step of so few samples is short, and threads that did it together would mostly wait.
    """
    each = math.ceil(n / SWARM / torch.get_num_threads()) * SWARM
    return list(slices(n, min(each, AT_ONCE)))
