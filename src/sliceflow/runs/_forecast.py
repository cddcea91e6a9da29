"""Forecast of the time and memory of a fit, from a few measured steps of each stage."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from time import perf_counter

from sliceflow.core._memory import peak_memory, reset_peak
from sliceflow.flow._state import Callback, State
from sliceflow.flow.schedules import Stage
from sliceflow.runs._plan import Plan

MEASURED_STEPS, MIN_MEASURED_STEPS = 60, 4
"""Number of measured steps: of all stages together, and the minimum for each stage."""

COPIES = 4
"""Copies of a stage's record in memory while it is saved, including those of safetensors."""


@dataclass(frozen=True)
class Forecast:
    """Time and memory of a flow, by stage.

    Parameters
    ----------
    overhead
        Seconds that do not depend on the number of steps: before, between and after the stages.
    rehearsal
        Seconds that the measurement took.
    measured
        Number of measured steps of each stage.
    steps
        Seconds per step of each stage.
    recorded
        Bytes recorded per step of each stage.
    start, peak
        Peak memory of the process, in bytes: until the end of the first step, and after it.
    """

    overhead: float
    rehearsal: float
    measured: int
    steps: tuple[float, ...]
    recorded: tuple[int, ...]
    start: int
    peak: int

    def seconds(self, schedule: tuple[Stage, ...]) -> float:
        """Return the time that the schedule takes."""
        return self.overhead + sum(
            stage.steps * each for stage, each in zip(schedule, self.steps, strict=True)
        )

    def memory(self, schedule: tuple[Stage, ...]) -> int:
        """Return the peak memory of the process, in bytes."""
        recorded = self.measured * sum(self.recorded)
        written = COPIES * max(self._stages(schedule))
        return max(self.start, self.peak - recorded + self.model(schedule) + written)

    def model(self, schedule: tuple[Stage, ...]) -> int:
        """Return the approximate size of the model, in bytes."""
        return sum(self._stages(schedule))

    def _stages(self, schedule: tuple[Stage, ...]) -> list[int]:
        """Return the number of bytes that each stage records."""
        return [stage.steps * n for stage, n in zip(schedule, self.recorded, strict=True)]

    def effort(self, schedule: tuple[Stage, ...], minutes: float, spent: float = 0) -> float:
        """Return the factor for the numbers of steps that uses all time but ``spent`` seconds."""
        left = 60 * minutes - spent - self.overhead
        if left < sum(self.steps):
            minimum = math.ceil((self.overhead + spent + sum(self.steps)) / 0.6) / 100
            raise ValueError(f"{minutes:g} minutes are too few: pass at least {minimum:g}")
        return left / (self.seconds(schedule) - self.overhead)


def rehearse(plan: Plan, perform: Callable[[Plan, Callback], State], age: float = 0) -> Forecast:
    """Run a plan with few steps per stage, and return a forecast for all steps.

    Parameters
    ----------
    plan
        The plan to forecast.
    perform
        Runs a plan, with everything before and after it, and calls back after each step.
    age
        Seconds since the process started.
    """
    n = max(MIN_MEASURED_STEPS, MEASURED_STEPS // len(plan.spec.schedule))
    short = tuple(replace(stage, steps=n) for stage in plan.spec.schedule)
    times: list[float] = []
    started, start = perf_counter(), 0

    def watch(_: State) -> None:
        nonlocal start
        if not times:  # later steps can reuse the memory of the start, such as for a covariance
            start = peak_memory()
            reset_peak()
        times.append(perf_counter())

    state = perform(plan.with_schedule(short), watch)
    total = perf_counter() - started
    # Skip the first step of a stage, which prepares the stage, and the last, which finishes it.
    took = [b - a for i, (a, b) in enumerate(pairwise(times), start=1) if 0 < i % n < n - 1]
    steps = tuple(median(took[i : i + n - 2]) for i in range(0, len(took), n - 2))
    overhead = age + total - n * sum(steps)
    recorded = _recorded(state, n)
    return Forecast(overhead, total, n, steps, recorded, start, peak_memory())


def _recorded(state: State, n: int) -> tuple[int, ...]:
    """Return the number of bytes that a step of each stage recorded."""
    if state.record is None:
        return (0,) * state.stage
    return tuple(maps.nbytes for maps in state.record.maps[::n])
