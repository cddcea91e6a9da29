"""What a fit is going to do: a flow, and how to read its particles in the units of the data."""

import math
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sliceflow._memory import check_memory
from sliceflow._scaling import Scaling
from sliceflow._support import Support
from sliceflow._validation import Kind
from sliceflow.checkpoints import Checkpoints
from sliceflow.course import Callback, State
from sliceflow.flow import Flow
from sliceflow.model import FlowModel
from sliceflow.progress import Progress


@dataclass(frozen=True, eq=False)
class Plan:
    """A fit, checked and ready to be run.

    Parameters
    ----------
    flow
        The flow.
    n_particles, n_rows
        M, and how many rows the data has.
    support, scaling
        Where the data has conditions, and its units.
    x_kind, y_kind, y_shape
        What kinds of array x and y were, and the shape of one y; y's kind is None without y.
    classes
        The labels that occur in y, if it is labels.
    names
        What the columns of x, and those of y after them, are called, if they have names.
    """

    flow: Flow
    n_particles: int
    n_rows: int
    support: Support
    scaling: Scaling
    x_kind: Kind
    y_kind: Kind | None
    y_shape: tuple[int, ...]
    classes: np.ndarray | None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        d, group = len(self.scaling.shift), self.flow.group
        own = len(group.own) / group.shards
        check_memory("n_particles", self.n_particles, math.ceil(2 * 4 * d * own))

    @property
    def is_first(self) -> bool:
        """Whether this is the first of many processes, or the only one."""
        return self.flow.group.rank == 0

    def run(
        self,
        callbacks: Iterable[Callback] = (),
        checkpoints: str | Path | None = None,
        minutes: float = 10,
        verbose: bool = False,
    ) -> State:
        """Move particles from noise onto the data, or go on from the last checkpoint, if any.

        Of many processes, the first one shows progress and has the callbacks.
        """
        flow, state = self.flow, self.flow.start(self.n_particles)
        with ExitStack() as stack:
            saving: list[Callback] = []
            if checkpoints is not None:
                saver = Checkpoints(flow, state, checkpoints, minutes)
                state = saver.latest()
                saving.append(stack.enter_context(saver))
            done = flow.steps_done(state)
            progress = Progress(flow.schedule, done=done, show=verbose and self.is_first)
            watching = callbacks if self.is_first else ()
            flow.run(state, [stack.enter_context(progress), *watching, *saving])
        if not state.particles.isfinite().all():
            raise FloatingPointError(
                "the particles flew apart: pass an engine with a smaller step_size"
            )
        return state

    def samples(self, state: State, n: int | None = None) -> tuple[Any, Any]:
        """Return (the first n) particles at the end of a stage, and their labels or columns."""
        x, y = self.flow.condition.split(self.scaling.back(state.particles[:, :n]))
        samples = self.x_kind.back(x.T.reshape(-1, *self.flow.shape))
        return samples, None if y is None else self._conditions(y)

    def _conditions(self, y: Tensor) -> Any:
        assert self.y_kind is not None
        if self.classes is None:
            return self.y_kind.back(y.T).reshape(-1, *self.y_shape)
        labels = self.classes[y.cpu().numpy()].reshape(-1, *self.y_shape)
        return labels if self.y_kind.device is None else torch.from_numpy(labels)

    def model(self, state: State) -> FlowModel | None:
        """Return the flow as it was recorded, if it was: by the first of many processes."""
        if state.record is None:
            return None
        return FlowModel.of(
            self.flow, state, self.support, self.scaling, self.x_kind, self.classes, self.names
        )
