"""Plans: fits that are checked and ready to run."""

import math
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from sliceflow.codec._codec import Codec
from sliceflow.core._devices import cpu_by_default
from sliceflow.core._memory import check_memory
from sliceflow.core._validation import check_number
from sliceflow.files._checkpoints import Checkpoints
from sliceflow.flow._flow import Flow
from sliceflow.flow._progress import Progress
from sliceflow.flow._spec import Spec
from sliceflow.flow._state import Callback, State
from sliceflow.flow.schedules import Stage, scaled
from sliceflow.model import Model


@dataclass(frozen=True, eq=False)
class Plan:
    """A fit that is checked and ready to run.

    Parameters
    ----------
    flow
        The flow.
    codec
        Converts rows of data to particles, and particles to samples.
    n_particles, n_rows
        The number of particles, M, and the number of rows of data.
    """

    flow: Flow
    codec: Codec
    n_particles: int
    n_rows: int

    def __post_init__(self) -> None:
        d, group = self.codec.n_coordinates, self.flow.group
        own = len(group.own) / group.shards
        check_memory("n_particles", self.n_particles, math.ceil(2 * 4 * d * own))

    @property
    def spec(self) -> Spec:
        """What determines the flow besides its data."""
        return self.flow.spec

    def with_schedule(self, schedule: tuple[Stage, ...]) -> Self:
        """Return the same fit with other stages."""
        spec = replace(self.spec, schedule=schedule)
        return replace(self, flow=replace(self.flow, spec=spec))

    def scaled(self, effort: float) -> Self:
        """Return the same fit with the number of steps of each stage multiplied by ``effort``."""
        check_number("effort", effort, positive=True)
        return self.with_schedule(scaled(self.spec.schedule, effort))

    def with_names(self, names: tuple[str, ...]) -> Self:
        """Return the same fit with these names for the columns of x, then of y."""
        return replace(self, codec=replace(self.codec, names=names))

    @property
    def is_first(self) -> bool:
        """Whether this is the first of many processes, or the only one."""
        return self.flow.group.rank == 0

    @cpu_by_default()
    def run(
        self,
        callbacks: Iterable[Callback] = (),
        checkpoints: str | Path | None = None,
        checkpoint_minutes: float = 10.0,
        verbose: bool = False,
    ) -> State:
        """Move particles from noise onto the data, or resume from the last checkpoint, if any.

        If there are many processes, only the first shows progress and calls the callbacks.
        """
        minutes = check_number("checkpoint_minutes", checkpoint_minutes, positive=False)
        flow, state = self.flow, self.flow.start(self.n_particles)
        with ExitStack() as stack:
            saving: list[Callback] = []
            if checkpoints is not None:
                saver = Checkpoints(flow, state, checkpoints, minutes)
                state = saver.latest()
                saving.append(stack.enter_context(saver))
            done = flow.steps_done(state)
            progress = Progress(self.spec.schedule, done=done, show=verbose and self.is_first)
            watching = callbacks if self.is_first else ()
            flow.run(state, [stack.enter_context(progress), *watching, *saving])
        if not state.particles.isfinite().all():
            raise FloatingPointError(
                "the particles diverged: pass an engine with a smaller step_size"
            )
        return state

    @cpu_by_default()
    def samples(self, state: State, n: int | None = None) -> tuple[Any, Any]:
        """Return particles (the first n) at the end of a stage, and their labels or columns."""
        particles = state.particles[:, :n]
        return self.codec.decode(particles), self.codec.decode_y(particles)

    def model(self, state: State) -> Model | None:
        """Return the recorded model, if there is a record: on the first of many processes."""
        if state.record is None:
            return None
        return Model(self.spec, self.codec, self.flow.sampler, state.record)
