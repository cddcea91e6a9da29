"""How long a fit will take, and how much memory: a few steps of each stage, done and multiplied."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from time import perf_counter

from sliceflow._memory import forget_peak, peak_memory
from sliceflow.loop import Callback, State
from sliceflow.plan import Plan
from sliceflow.schedules import Stage

TRIED, LEAST = 60, 4
"""Steps that are done, in all stages together, and in each of them at least."""

COPIES = 4
"""Of what a stage recorded, while it is written to a file: by us, and within safetensors."""


@dataclass(frozen=True)
class Forecast:
    """What a flow costs, by stage.

    Parameters
    ----------
    around
        Seconds that do not grow with the steps: before them, between stages, and after them.
    rehearsal
        Seconds that it took to find this out.
    tried
        Steps of each stage that were done for it.
    steps
        Seconds of one step of each stage.
    recorded
        Bytes that one step of each stage records.
    start, peak
        The most memory that the process had until its first step was done, and after it, in bytes.
    """

    around: float
    rehearsal: float
    tried: int
    steps: tuple[float, ...]
    recorded: tuple[int, ...]
    start: int
    peak: int

    def seconds(self, schedule: tuple[Stage, ...]) -> float:
        """Return how long the stages take."""
        return self.around + sum(
            stage.steps * each for stage, each in zip(schedule, self.steps, strict=True)
        )

    def memory(self, schedule: tuple[Stage, ...]) -> int:
        """Return the most bytes that the process will have."""
        tried = self.tried * sum(self.recorded)
        written = COPIES * max(self._stages(schedule))
        return max(self.start, self.peak - tried + self.model(schedule) + written)

    def model(self, schedule: tuple[Stage, ...]) -> int:
        """Return about how many bytes the model will have."""
        return sum(self._stages(schedule))

    def _stages(self, schedule: tuple[Stage, ...]) -> list[int]:
        """Return how many bytes each stage records."""
        return [stage.steps * n for stage, n in zip(schedule, self.recorded, strict=True)]

    def effort(self, schedule: tuple[Stage, ...], minutes: float, spent: float = 0) -> float:
        """Return how many times these steps take so long, of which some seconds are spent."""
        left = 60 * minutes - spent - self.around
        if left < sum(self.steps):
            least = math.ceil((self.around + spent + sum(self.steps)) / 0.6) / 100
            raise ValueError(f"{minutes:g} minutes are too few: pass at least {least:g}")
        return left / (self.seconds(schedule) - self.around)


def rehearse(plan: Plan, perform: Callable[[Plan, Callback], State], age: float = 0) -> Forecast:
    """Perform a plan of few steps a stage, counting them; return what it costs.

    Parameters
    ----------
    plan
        What is to be done with all of its steps.
    perform
        Does a plan, with all there is to do before and after it, and calls back after each step.
    age
        How long the process has been there.
    """
    tried = max(LEAST, TRIED // len(plan.spec.schedule))
    short = tuple(replace(stage, steps=tried) for stage in plan.spec.schedule)
    times: list[float] = []
    started, start = perf_counter(), 0

    def watch(_: State) -> None:
        nonlocal start
        if not times:  # what a start needs, such as a covariance, is free for what is recorded
            start = peak_memory()
            forget_peak()
        times.append(perf_counter())

    state = perform(plan.with_schedule(short), watch)
    took_all = perf_counter() - started
    # the first step of a stage also makes what the others share, the last one leaves its level
    took = [b - a for i, (a, b) in enumerate(pairwise(times), start=1) if 0 < i % tried < tried - 1]
    steps = tuple(median(took[i : i + tried - 2]) for i in range(0, len(took), tried - 2))
    around = age + took_all - tried * sum(steps)
    recorded = _recorded(state, tried)
    return Forecast(around, took_all, tried, steps, recorded, start, peak_memory())


def _recorded(state: State, tried: int) -> tuple[int, ...]:
    """Return how many bytes a step of each stage recorded."""
    if state.record is None:
        return (0,) * state.stage
    return tuple(maps.nbytes for maps in state.record.maps[::tried])
