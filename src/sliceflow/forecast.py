"""How long a fit will take, and how much memory: a few steps of each stage, done and multiplied."""

from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean
from time import perf_counter

from sliceflow._memory import peak_memory
from sliceflow.course import State
from sliceflow.plan import Plan
from sliceflow.schedules import Stage

TRIED = 3
"""Steps of each stage that are done. The first one also makes what the others share."""


@dataclass(frozen=True)
class Forecast:
    """What a flow costs, by stage.

    Parameters
    ----------
    before
        Seconds from the start of the process to the first step, and those of beginning stages.
    rehearsal
        Seconds that it took to find this out.
    steps
        Seconds of one step of each stage.
    recorded
        Bytes that one step of each stage records.
    peak
        The most memory that the process had until now, in bytes.
    """

    before: float
    rehearsal: float
    steps: tuple[float, ...]
    recorded: tuple[int, ...]
    peak: int

    def seconds(self, schedule: tuple[Stage, ...]) -> float:
        """Return how long the stages take."""
        return self.before + sum(
            stage.steps * each for stage, each in zip(schedule, self.steps, strict=True)
        )

    def memory(self, schedule: tuple[Stage, ...]) -> int:
        """Return the most bytes that the process will have."""
        return self.peak + sum(
            (stage.steps - TRIED) * each
            for stage, each in zip(schedule, self.recorded, strict=True)
        )

    def effort(self, schedule: tuple[Stage, ...], minutes: float) -> float:
        """Return how many times these steps take so long."""
        left, all_steps = 60 * minutes - self.before, self.seconds(schedule) - self.before
        if left < sum(self.steps):
            least = (self.before + sum(self.steps)) / 60
            raise ValueError(f"{minutes:g} minutes are too few: pass at least {least:.2g}")
        return left / all_steps


def rehearse(plan: Plan, age: float = 0) -> Forecast:
    """Do some steps of each stage; return what they cost, in a process that has this age."""
    started = perf_counter()
    short = tuple(replace(stage, steps=TRIED) for stage in plan.flow.schedule)
    flow = replace(plan.flow, schedule=short)
    state, times = flow.start(plan.n_particles), [perf_counter()]
    flow.run(state, [lambda _: times.append(perf_counter())])
    took = [after - before for before, after in pairwise(times)]
    stages = [took[i : i + TRIED] for i in range(0, len(took), TRIED)]
    steps = tuple(mean(others) for _, *others in stages)
    begin = sum(first for first, *_ in stages) - sum(steps)
    before = age + times[0] - started + max(0, begin)
    took_all = perf_counter() - started
    return Forecast(before, took_all, steps, _recorded(state), peak_memory())


def _recorded(state: State) -> tuple[int, ...]:
    """Return how many bytes a step of each stage recorded."""
    if state.record is None:
        return (0,) * state.stage
    return tuple(maps.nbytes for maps in state.record.maps[::TRIED])
