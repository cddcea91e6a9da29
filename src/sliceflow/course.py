"""The course of a flow: one step, one state, one loop, whoever gives the maps.

A step moves every particle along every direction by its one-dimensional transport map:

    z = A x                    project the particles on H directions
    T                          one monotone map for each direction
    x = x + w Aᵀ (T(z) − z)    move the free coordinates; the condition stays

The weight w is η/H where directions are averaged, and 1 where they are orthonormal. Particles are
columns: M particles of D coordinates are a (D, M) matrix, and their values along H directions are
(H, M), so that the values of one map lie together.

`flow.Flow` makes the maps from data, `model.FlowModel` has them from a flow that was recorded.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol

import torch
from torch import Tensor

from sliceflow._random import Draw, Random
from sliceflow.conditions import Condition
from sliceflow.distributed import Alone, Group, Work
from sliceflow.engines import Engine
from sliceflow.projections import Block, Operator
from sliceflow.pyramid import Level
from sliceflow.schedules import Stage
from sliceflow.transport import PackedMap


@dataclass
class Record:
    """What cannot be drawn again: the axes of each stage, made from data, and each step's maps."""

    axes: list[Tensor | None] = field(default_factory=list)
    maps: list[PackedMap] = field(default_factory=list)
    _places: list[PackedMap] = field(default_factory=list, repr=False)

    def add(self, maps: PackedMap, left: int) -> None:
        """Keep a step's maps, in one place with those of as many steps as are left of its stage.

        Among all that a step takes and gives back, what stays would lie far apart, and the holes
        between would be of no use.
        """
        if not self._places:
            self._places = maps.places(left)
        place = self._places.pop(0)
        place.copy_(maps)
        self.maps.append(place)


@dataclass
class State:
    """All that changes while a flow runs: save it to stop, load it to go on.

    ``swarms`` are particles, (D, M) each, that move by the same maps. Of a `Flow`, the last are
    offline ones, which ride along, and the maps are estimated from the others: the shards of this
    process. ``noise`` is the seed of each swarm's own noise, with what to draw. ``stage`` and
    ``step`` are those that come next. ``record`` is what a model needs of the steps so far, if it
    is wanted.

    While a stage moves particles in the coordinates of its level, the swarms there are ``inner``
    and those above are as they were when it began; `Course.settle` brings them up to date. A step
    that was interrupted has moved some tiles and not others: go on from a saved state.
    """

    swarms: list[Tensor]
    noise: list[tuple[int, Draw]]
    stage: int = 0
    step: int = 0
    inner: list[Tensor] | None = None
    record: Record | None = None

    @property
    def particles(self) -> Tensor:
        """The particles of a `Flow` that this process has."""
        *shards, _ = self.swarms
        return torch.cat(shards, dim=1) if len(shards) > 1 else shards[0]

    @property
    def offline(self) -> Tensor:
        """Those that ride along."""
        return self.swarms[-1]


Callback = Callable[[State], object]
"""Called with the state after each step."""


class Transport(Protocol):
    """The maps of a step."""

    @property
    def width(self) -> int:
        """How many values along a direction it holds beside those of the swarms."""

    def __call__(
        self, theta: Block, rows: slice, zs: list[Tensor]
    ) -> Work[tuple[list[Tensor], PackedMap | None]]:
        """Return T(z) − z, with the values z of each swarm along these directions, rows of A.

        May do so in place. Also returns the maps, if they are to be recorded.
        """


@dataclass(frozen=True)
class Setting:
    """What the steps of a stage share."""

    level: Level
    law: Any


class Course(ABC):
    """Steps along directions that a schedule, an engine and a seed determine."""

    condition: Condition
    shape: tuple[int, ...]
    schedule: tuple[Stage, ...]
    engine: Engine
    entropy: float
    fixed_directions: bool
    seed: int
    group: Group = Alone()
    random: type[Random] = Random
    """How draws are made."""

    @abstractmethod
    def setting(self, state: State) -> Setting:
        """Return what the steps of this stage share, made when it begins."""

    @abstractmethod
    def transport(self, state: State, A: Operator, us: list[Tensor]) -> Transport:
        """Return what maps the values of swarms u, in the coordinates of A, in this step."""

    def run(self, state: State, callbacks: Iterable[Callback] = ()) -> State:
        """Do all steps that are left, in place, and call each callback after each step."""
        callbacks = tuple(callbacks)
        while state.stage < len(self.schedule):
            self.step(state)
            for callback in callbacks:
                callback(state)
        return state

    def step(self, state: State) -> None:
        """Do one step, in place: x ← x + w Aᵀ (T(A x) − A x) + √(2λη) ε."""
        law, us = self.setting(state).law, self._inner(state)
        A = self.directions(state, us[0])
        vs = self.group.each(A.level.enter, us)
        at_once = A.is_disjoint and not self._leaves_each_step
        moves = vs if at_once else [torch.zeros_like(v) for v in vs]
        weight = self.engine.weight(law)
        maps = self.add_moves(A, self.transport(state, A, vs), vs, weight, onto=moves)
        if state.record is not None and maps is not None:
            state.record.add(maps, self.schedule[state.stage].steps - state.step)
        if not at_once:
            self._apply(state, self.group.each(A.level.leave, moves), eta=weight * len(A))
        self._advance(state)

    def directions(self, state: State, like: Tensor) -> Operator:
        """Draw the directions of this step, of the dtype and on the device of ``like``."""
        number = 0 if self.fixed_directions else state.step
        rng = self.random(self.seed, Draw.DIRECTIONS, state.stage, number)
        return self.engine.draw(self.setting(state).law, rng, like)

    def add_moves(
        self, A: Operator, transport: Transport, us: list[Tensor], weight: float, onto: list[Tensor]
    ) -> PackedMap | None:
        """Add w Aᵀ (T(A u) − A u) of each swarm u to what it moves (equations 7 and 8).

        Blocks that touch no coordinate twice are worked on in parallel, and may move u itself.
        Returns the maps of all directions, if they are to be recorded.
        """
        us, onto = ([x for x in swarms if x.shape[1]] for swarms in (us, onto))

        def add(theta: Block, rows: slice) -> Work[PackedMap | None]:
            zs = self.group.each(theta.project, us)
            vs, maps = yield from transport(theta, rows, zs)
            pairs = list(zip(vs, onto, strict=True))
            self.group.each(lambda pair: theta.lift(*pair, weight), pairs)
            return maps

        m = max(transport.width, *(u.shape[1] for u in us))
        blocks = numbered(A.blocks(self.group.at_once(len(A), m)))
        works = (add(theta, rows) for theta, rows in blocks)
        maps = self.group.run(works, in_order=not A.is_disjoint)
        return PackedMap.joined([T for T in maps if T is not None])

    @property
    def _leaves_each_step(self) -> bool:
        """Whether particles leave their level after each step, for what is done pixel by pixel."""
        return self.condition.freezes_x or self.entropy > 0

    def _apply(self, state: State, moves: list[Tensor], eta: float) -> None:
        """Add the moves, in the coordinates of the stage's level, to what is free; then noise."""
        free, level = self.condition.free, self.setting(state).level
        if not self._leaves_each_step:
            for u, move in zip(self._inner(state), moves, strict=True):
                u[free] += move[free]
            return
        for x, move, (seed, draw) in zip(state.swarms, moves, state.noise, strict=True):
            x[free] += level.leave(move)[free]
            if self.entropy:
                rng = self.random(seed, draw, state.stage, state.step)
                x[free] += (2 * self.entropy * eta) ** 0.5 * rng.particles(x[free])
        state.inner = None

    def _advance(self, state: State) -> None:
        """Count the step; after the last one of its stage, settle."""
        if state.step + 1 < self.schedule[state.stage].steps:
            state.step += 1
            return
        self.settle(state)
        state.stage, state.step = state.stage + 1, 0

    def steps_done(self, state: State) -> int:
        """Return how many steps were done so far."""
        return self._first_steps[state.stage] + state.step

    @cached_property
    def _first_steps(self) -> list[int]:
        """How many steps come before each stage, and before the end."""
        return list(accumulate((stage.steps for stage in self.schedule), initial=0))

    def settle(self, state: State) -> None:
        """Bring the particles up to date with their coordinates at the level of the stage."""
        if state.inner is not None:
            level, pairs = (
                self.setting(state).level,
                list(zip(state.swarms, state.inner, strict=True)),
            )
            self.group.each(lambda pair: level.update(*pair), pairs)
        state.inner = None

    def _inner(self, state: State) -> list[Tensor]:
        """Return the swarms in the coordinates of the stage's level."""
        if state.inner is None:
            state.inner = self.group.each(self.setting(state).level.enter, state.swarms)
        return state.inner


def numbered(blocks: Iterable[Block]) -> Iterator[tuple[Block, slice]]:
    """Yield each block with the rows of A that it is."""
    first = 0
    for theta in blocks:
        yield theta, slice(first, first + len(theta))
        first += len(theta)
