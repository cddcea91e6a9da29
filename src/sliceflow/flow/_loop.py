"""The loop: stages of steps that move particles along one-dimensional transport maps.

A step moves every particle along every direction by its map:

    z = A x                    project the particles on H directions
    T                          one monotone map for each direction
    x = x + w Aᵀ (T(z) − z)    move the free coordinates; the condition stays

The weight w is η/H where directions are averaged, and 1 where they are orthonormal. Particles are
columns: M particles of D coordinates are a (D, M) matrix, and their values along H directions are
(H, M), so that the values of one map lie together.

`flow.Flow` estimates the maps from data. `model.Model` has the maps that a flow recorded.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, Self

import torch
from torch import Tensor

from sliceflow.core._distributed import Group, Merge, SingleProcess
from sliceflow.core._random import Draw, Key
from sliceflow.directions import Block, Directions, Operator
from sliceflow.directions._pyramid import Level
from sliceflow.flow._spec import Spec
from sliceflow.transport import PackedMap


@dataclass
class Record:
    """What a model needs of the data: the axes of each stage, and the maps of each step."""

    axes: list[Tensor | None] = field(default_factory=list)
    maps: list[PackedMap] = field(default_factory=list)
    _reserved: list[PackedMap] = field(default_factory=list, repr=False)

    def add(self, maps: PackedMap, steps_left: int) -> None:
        """Keep a step's maps, in memory that is reserved at once for all steps left of the stage.

        Allocated one by one, maps would fragment the memory that each step allocates and frees.
        """
        if not self._reserved:
            self._reserved = maps.reserve(steps_left)
        kept = self._reserved.pop(0)
        kept.copy_(maps)
        self.maps.append(kept)


@dataclass
class State:
    """All that changes while a flow runs: save it to stop, load it to resume.

    Parameters
    ----------
    shards
        The particles of this process, (D, M) each, which move by the same maps.
    noise
        The key of the noise of each shard; its stage and step are those of the state.
    stage, step
        The next step to do.
    coordinates
        The shards in the coordinates of the stage's level, if the stage keeps them there. Then
        ``shards`` are as they were when the stage began, until it ends.
    record
        What a model needs of the steps so far; None to record nothing.

    An interrupted step has moved some tiles and not others: resume from a saved state.
    """

    shards: list[Tensor]
    noise: list[Key]
    stage: int = 0
    step: int = 0
    coordinates: list[Tensor] | None = None
    record: Record | None = None

    @property
    def particles(self) -> Tensor:
        """The particles of this process, (D, M), as they were when the stage began."""
        return torch.cat(self.shards, dim=1) if len(self.shards) > 1 else self.shards[0]


Callback = Callable[[State], object]
"""Called with the state after each step."""


class Transport(Protocol):
    """The maps of a step."""

    @property
    def width(self) -> int:
        """The number of values along a direction that it holds, besides those of particles."""

    def __call__(
        self, theta: Block, rows: slice, zs: list[Tensor], merge: Merge | None
    ) -> tuple[list[Tensor], PackedMap | None]:
        """Return T(z) − z for the values z of each shard along directions θ, these rows of A.

        May change z in place. Also returns the maps, if they are to be recorded. ``merge`` combines
        counts with those of other processes.
        """


@dataclass(frozen=True)
class StageContext:
    """What the steps of a stage share.

    Parameters
    ----------
    level
        The level whose coordinates the directions refer to.
    directions
        The distribution from which each step draws its directions.
    weight
        The weight w.
    stays
        Whether particles stay in the coordinates of the level from step to step. They do not if the
        level is not orthonormal, or if a step adds noise or masks pixels.
    transport
        Returns the maps of a step, for shards u in the coordinates of the level.
    """

    level: Level
    directions: Directions
    weight: float
    stays: bool
    transport: Callable[[State, list[Tensor]], Transport]

    @classmethod
    def of(
        cls,
        spec: Spec,
        number: int,
        level: Level,
        axes: Tensor | None,
        transport: Callable[[State, list[Tensor]], Transport],
    ) -> Self:
        """Return what the steps of a stage share, given its data-dependent axes, if any."""
        stage, engine = spec.schedule[number], spec.engine
        directions = engine.directions(stage, spec.shape, spec.condition, axes)
        leaves = spec.condition.mask is not None or engine.entropy > 0
        stays = level.is_orthonormal and not leaves
        return cls(level, directions, engine.weight(stage, spec.shape), stays, transport)


class BaseFlow(ABC):
    """The loop of a flow. The spec determines the directions, subclasses the maps."""

    spec: Spec
    group: Group = SingleProcess()

    @abstractmethod
    def prepare(self, state: State) -> StageContext:
        """Return what the steps of this stage share."""

    def run(self, state: State, callbacks: Iterable[Callback] = ()) -> State:
        """Do all steps that are left, in place, and call each callback after each step."""
        callbacks = tuple(callbacks)
        while state.stage < len(self.spec.schedule):
            stage, steps = self.begin_stage(state), self.spec.schedule[state.stage].steps
            for step in range(state.step, steps):
                self.step(stage, state)
                if step + 1 == steps:
                    self.end_stage(stage, state)
                for callback in callbacks:
                    callback(state)
        return state

    def begin_stage(self, state: State) -> StageContext:
        """Prepare the steps of a stage, and take the particles to its level if they stay there."""
        stage = self.prepare(state)
        if stage.stays and state.coordinates is None:
            state.coordinates = self.group.each(stage.level.enter, state.shards)
        return stage

    def step(self, stage: StageContext, state: State) -> None:
        """Do one step, in place: x ← x + w Aᵀ (T(A x) − A x) + √(2λη) ε."""
        us = state.coordinates or self.group.each(stage.level.enter, state.shards)
        A = self.directions(stage, state, like=us[0])
        T = stage.transport(state, us)
        if stage.stays and A.is_disjoint:  # each block moves coordinates that no other block reads
            maps = self.add_moves(A, T, us, stage.weight, onto=us)
        else:
            moves = [torch.zeros_like(u) for u in us]
            maps = self.add_moves(A, T, us, stage.weight, onto=moves)
            self._move(stage, state, moves, eta=stage.weight * len(A))
        if state.record is not None and maps is not None:
            state.record.add(maps, self.spec.schedule[state.stage].steps - state.step)
        state.step += 1

    def end_stage(self, stage: StageContext, state: State) -> None:
        """Take particles back to full size, and go on to the next stage."""
        if state.coordinates is not None:
            pairs = list(zip(state.shards, state.coordinates, strict=True))
            self.group.each(lambda pair: stage.level.update(*pair), pairs)
        state.stage, state.step, state.coordinates = state.stage + 1, 0, None

    def directions(self, stage: StageContext, state: State, like: Tensor) -> Operator:
        """Draw the directions of this step, of the dtype and on the device of ``like``."""
        step = 0 if self.spec.engine.fixed_directions else state.step
        return stage.directions.draw(self.spec.rng(Draw.DIRECTIONS, state.stage, step), like)

    def add_moves(
        self, A: Operator, T: Transport, us: list[Tensor], weight: float, onto: list[Tensor]
    ) -> PackedMap | None:
        """Add w Aᵀ (T(A u) − A u) of each shard u to ``onto`` (equations 7 and 8).

        Blocks that share no coordinate run in parallel, and then ``onto`` may be u itself. Returns
        the maps of all directions, if they are to be recorded.
        """

        def add(block: tuple[Block, slice], merge: Merge | None) -> PackedMap | None:
            theta, rows = block
            zs = self.group.each(theta.project, us)
            vs, maps = T(theta, rows, zs, merge)
            pairs = list(zip(vs, onto, strict=True))
            self.group.each(lambda pair: theta.lift(*pair, weight), pairs)
            return maps

        m = max(T.width, *(u.shape[1] for u in us))
        blocks = with_rows(A.blocks(self.group.block_size(len(A), m)))
        maps = self.group.run(add, blocks, in_order=not A.is_disjoint)
        return PackedMap.joined([packed for packed in maps if packed is not None])

    def _move(self, stage: StageContext, state: State, moves: list[Tensor], eta: float) -> None:
        """Add moves, in the coordinates of the level, to the free coordinates; then add noise."""
        free, entropy = self.spec.condition.free, self.spec.engine.entropy
        if state.coordinates is not None:
            for u, move in zip(state.coordinates, moves, strict=True):
                u[free] += move[free]
            return
        for x, move, key in zip(state.shards, moves, state.noise, strict=True):
            x[free] += stage.level.leave(move)[free]
            if entropy:
                rng = self.spec.random(key.seed, key.draw, state.stage, state.step)
                x[free] += (2 * entropy * eta) ** 0.5 * rng.particles(x[free])

    def steps_done(self, state: State) -> int:
        """Return the number of steps done so far."""
        return self.spec.steps_before(state.stage) + state.step


def with_rows(blocks: Iterable[Block]) -> Iterator[tuple[Block, slice]]:
    """Yield each block with its rows of A."""
    first = 0
    for theta in blocks:
        yield theta, slice(first, first + len(theta))
        first += len(theta)
