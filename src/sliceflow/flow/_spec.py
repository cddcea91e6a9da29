"""A spec: everything that determines a flow, besides its data."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from sliceflow.codec._conditions import Condition, Unconditional
from sliceflow.core._random import Draw, Random
from sliceflow.flow._engines import Engine, Fast
from sliceflow.flow.schedules import Stage


@dataclass(frozen=True, eq=False)
class Spec:
    """The settings that a flow shares with the model that is recorded from it.

    Parameters
    ----------
    shape
        The shape of one x: (d,) or (C, h, w).
    schedule
        The stages, one after the other.
    condition
        What is given; it is not moved.
    engine
        How a step is done: `Fast` or `Exact`.
    seed
        The seed; with the stage and the step, it determines every draw.
    random
        The generator of random numbers: model files of version 1 use NumPy's.
    """

    shape: tuple[int, ...]
    schedule: tuple[Stage, ...]
    condition: Condition = Unconditional()  # noqa: RUF009 (it does not change)
    engine: Engine = Fast()  # noqa: RUF009
    seed: int = 0
    random: type[Random] = Random

    def rng(self, draw: Draw, stage: int, step: int = 0) -> Random:
        """Return the random numbers of a draw."""
        return self.random(self.seed, draw, stage, step)

    def steps_before(self, stage: int) -> int:
        """Return the number of steps of all stages before this one."""
        return self._steps_before[stage]

    @cached_property
    def _steps_before(self) -> list[int]:
        return list(accumulate((stage.steps for stage in self.schedule), initial=0))

    def fingerprint(self) -> str:
        """Return all settings as text: specs with equal text give equal bits."""
        condition, free = self.condition, self.condition.free
        given = (
            *(type(condition).__name__, condition.l, condition.amplifier),
            free if isinstance(free, slice) else free.tolist(),
        )
        parts = (self.shape, self.schedule, given, self.engine, self.seed, self.random.__name__)
        return f"Spec{parts}"
