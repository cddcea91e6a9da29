"""The flow: stages of steps that move particles along one-dimensional transport maps.

A step moves every particle along every direction by its map:

    z = A x                    project the particles on H directions
    T                          one monotone map for each direction
    x = x + w Aᵀ (T(z) − z)    move the free coordinates; the condition stays

The weight w is η/H where directions are averaged, and 1 where they are orthonormal. Particles are
columns: M particles of D coordinates are a (D, M) matrix, and their values along H directions are
(H, M), so that the values of one map lie together.

`BaseFlow` has the loop and the step. `Flow` estimates the maps T = F_q⁻¹ ∘ F_p from data, anew in
each step (Algorithms 1 and 2). `model.Model` has the maps that a flow recorded.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol, Self

import torch
from torch import Tensor

from sliceflow.core._distributed import Group, Merge, SingleProcess
from sliceflow.core._random import Draw, Key, Random, child_seed
from sliceflow.directions import Block, Directions, Operator
from sliceflow.directions._pyramid import Level
from sliceflow.flow._engines import Transport
from sliceflow.flow._spec import Spec
from sliceflow.flow._starts import Noise, Sampler, Start
from sliceflow.flow._state import Callback, Record, State
from sliceflow.flow._targets import Target
from sliceflow.transport import PackedMap, Values


class Maps(Protocol):
    """The maps T of a step, one for each direction."""

    @property
    def width(self) -> int:
        """The number of data values along each direction; 0 if the maps are not made from data."""

    def __call__(
        self, theta: Block, rows: slice, zs: list[Tensor], merge: Merge | None
    ) -> tuple[list[Tensor], PackedMap | None]:
        """Return T(z) − z for the values z of each shard along a block of directions, theta.

        ``rows`` are the numbers of the block's maps among all maps of the step. z may be changed in
        place. Also returns the maps, if they are to be recorded. ``merge`` combines counts with
        those of other processes.
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
        The weight w of a step of full size.
    stays
        Whether particles stay in the coordinates of the level from step to step. They do not if the
        level is not orthonormal, or if a step adds noise or masks pixels.
    make_maps
        Returns the maps of a step, for shards u in the coordinates of the level.
    """

    level: Level
    directions: Directions
    weight: float
    stays: bool
    make_maps: Callable[[State, list[Tensor]], Maps]

    @classmethod
    def of(
        cls,
        spec: Spec,
        number: int,
        level: Level,
        axes: Tensor | None,
        make_maps: Callable[[State, list[Tensor]], Maps],
    ) -> Self:
        """Return what the steps of a stage share, given its data-dependent axes, if any."""
        stage, engine = spec.schedule[number], spec.engine
        directions = engine.directions(stage, spec.shape, spec.condition, axes)
        leaves = spec.condition.mask is not None or engine.entropy > 0
        stays = level.is_orthonormal and not leaves
        return cls(level, directions, engine.weight(stage, spec.shape), stays, make_maps)


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
            context, steps = self.begin_stage(state), self.spec.schedule[state.stage].steps
            for step in range(state.step, steps):
                self.step(context, state)
                if step + 1 == steps:
                    self.end_stage(context, state)
                for callback in callbacks:
                    callback(state)
        return state

    def begin_stage(self, state: State) -> StageContext:
        """Prepare the steps of a stage, and take the particles to its level if they stay there."""
        context = self.prepare(state)
        if context.stays and state.coordinates is None:
            state.coordinates = self.group.each(context.level.enter, state.shards)
        return context

    def step(self, context: StageContext, state: State) -> None:
        """Do one step, in place: x ← x + w Aᵀ (T(A x) − A x) + √(2λη) ε."""
        us = state.coordinates or self.group.each(context.level.enter, state.shards)
        A = self.directions(context, state, like=us[0])
        T = context.make_maps(state, us)
        w = context.weight * self.spec.schedule[state.stage].size_of(state.step)
        if context.stays and A.is_disjoint:  # no block reads what another moves
            maps = self.add_moves(A, T, us, w, onto=us)
        else:
            moves = [torch.zeros_like(u) for u in us]
            maps = self.add_moves(A, T, us, w, onto=moves)
            self._move(context, state, moves, eta=w * len(A))
        if state.record is not None and maps is not None:
            state.record.add(maps, self.spec.schedule[state.stage].steps - state.step)
        state.step += 1

    def end_stage(self, context: StageContext, state: State) -> None:
        """Take particles back to full size, and go on to the next stage."""
        if state.coordinates is not None:
            pairs = list(zip(state.shards, state.coordinates, strict=True))
            self.group.each(lambda pair: context.level.update(*pair), pairs)
        state.stage, state.step, state.coordinates = state.stage + 1, 0, None

    def directions(self, context: StageContext, state: State, like: Tensor) -> Operator:
        """Draw the directions of this step, of the dtype and on the device of ``like``."""
        step = 0 if self.spec.engine.fixed_directions else state.step
        return context.directions.draw(self.spec.rng(Draw.DIRECTIONS, state.stage, step), like)

    def add_moves(
        self, A: Operator, T: Maps, us: list[Tensor], weight: float, onto: list[Tensor]
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

        m = max(T.width, sum(u.shape[1] for u in us))
        blocks = with_numbers(A.blocks(self.group.block_size(len(A), m)))
        maps = self.group.run(add, blocks, in_order=not A.is_disjoint)
        return PackedMap.joined([packed for packed in maps if packed is not None])

    def _move(self, context: StageContext, state: State, moves: list[Tensor], eta: float) -> None:
        """Add moves, in the coordinates of the level, to the free coordinates; then add noise."""
        free, entropy = self.spec.condition.free, self.spec.engine.entropy
        if state.coordinates is not None:
            for u, move in zip(state.coordinates, moves, strict=True):
                u[free] += move[free]
            return
        for x, move, key in zip(state.shards, moves, state.noise, strict=True):
            x[free] += context.level.leave(move)[free]
            if entropy:
                rng = self.spec.random(key.seed, key.draw, state.stage, state.step)
                x[free] += (2 * entropy * eta) ** 0.5 * rng.particles(x[free])

    def steps_done(self, state: State) -> int:
        """Return the number of steps done so far."""
        return self.spec.steps_before(state.stage) + state.step


def with_numbers(blocks: Iterable[Block]) -> Iterator[tuple[Block, slice]]:
    """Yield each block with the numbers of its maps among all maps of the step."""
    first = 0
    for theta in blocks:
        yield theta, slice(first, first + len(theta))
        first += len(theta)


@dataclass(frozen=True, eq=False)
class EstimatedMaps:
    """The maps of a step, from particles to data, estimated block by block.

    Parameters
    ----------
    transport
        How maps are estimated.
    data
        The rows of each shard that the step sees, (D, N).
    subset
        The particles of each shard from which F_p is estimated; None for all.
    knots
        The number of knots with which maps are recorded; None to record nothing.
    group
        The processes that share the work.
    """

    transport: Transport
    data: list[Tensor]
    subset: list[Tensor] | None
    knots: int | None
    group: Group

    @property
    def width(self) -> int:
        """The number of data values along each direction."""
        return sum(rows.shape[1] for rows in self.data)

    def __call__(
        self, theta: Block, rows: slice, zs: list[Tensor], merge: Merge | None
    ) -> tuple[list[Tensor], PackedMap | None]:
        """Return T(z) − z for the values z of each shard along a block of directions."""
        z = Values.of(*zs, merge=merge)
        q = Values.of(*self.group.each(theta.project, self.data), merge=merge)
        p = z
        if self.subset is not None:
            p = Values.of(*self.group.each(theta.project, self.subset), merge=merge)
        T = self.transport.displace_(z.z, p, q, self.knots)
        return z.parts(), None if T is None else T.packed()


@dataclass(frozen=True, eq=False)
class Flow(BaseFlow):
    """A conditional sliced-Wasserstein flow (Algorithm 1).

    With ``Exact(fixed_directions=True, entropy=λ)`` it is the flow of Liutkus et al.
    (Algorithm 2).

    Parameters
    ----------
    spec
        What determines the flow besides its data.
    targets
        The data, as particles joined by the condition: one target for each shard of this process.
    initial
        Where particles start: `Noise` or `Gaussian`.
    knots
        The number of knots with which maps are recorded; None to record nothing.
    group
        The processes that share the work.
    """

    spec: Spec
    targets: Sequence[Target]
    initial: Start = Noise()  # noqa: RUF009 (it does not change)
    knots: int | None = None
    group: Group = SingleProcess()  # noqa: RUF009

    def start(self, n: int) -> State:
        """Draw n particles from p₀(x, y) = p₀(x | y) q(y), and return this process's shards."""
        shards = self._draw_shards(self.targets, n, Draw.CONDITIONS)
        for z, seed in zip(shards, self.seeds, strict=True):
            self.spec.condition.set_free(z, self.sampler(Random(seed, Draw.START), z))
        noise = [Key(seed, Draw.NOISE) for seed in self.seeds]
        return State(shards, noise, record=None if self._recorded_knots is None else Record())

    @property
    def _recorded_knots(self) -> int | None:
        """The number of knots to record, on the first process; all make the same maps."""
        return self.knots if self.group.rank == 0 else None

    @cached_property
    def seeds(self) -> list[int]:
        """The seed of each shard of this process."""
        if self.group.shards == 1:
            return [self.spec.seed]
        return [child_seed(self.spec.seed, number) for number in self.group.own]

    @cached_property
    def sampler(self) -> Sampler:
        """The initial distribution p₀(x | y), estimated from the data if necessary."""

        def draw(n: int) -> Tensor:
            return self.draw_rows(self.targets, n, Draw.GAUSSIAN)

        spec = self.spec
        rng = Random(spec.seed, Draw.ROTATION)
        return self.initial.sampler(draw, spec.condition, math.prod(spec.shape), rng)

    def draw_rows(self, targets: Sequence[Target], n: int, draw: Draw, stage: int = 0) -> Tensor:
        """Draw n rows of all data, the same on every process."""
        return torch.cat(self.group.gather(self._draw_shards(targets, n, draw, stage)), dim=1)

    def _draw_shards(
        self, targets: Sequence[Target], n: int, draw: Draw, stage: int = 0
    ) -> list[Tensor]:
        """Draw n rows of all data, and return those of this process's shards."""
        widths = self.group.widths(n)
        return [
            target.draw(Random(seed, draw, stage), m)
            for target, seed, m in zip(targets, self.seeds, widths, strict=True)
        ]

    def prepare(self, state: State) -> StageContext:
        """Return what the steps of this stage share, and record its axes."""
        number, spec = state.stage, self.spec
        stage, engine = spec.schedule[number], spec.engine
        level = engine.level(stage, spec.shape, state.shards[0])
        targets = self.targets if stage.resolution is None else self._parts(level, number)
        axes = engine.axes(
            stage, spec.shape, lambda n: self.draw_rows(targets, n, Draw.AXES, number)
        )
        if state.record is not None and len(state.record.axes) == number:
            state.record.axes.append(axes)
        return StageContext.of(spec, number, level, axes, partial(self._estimate, level, targets))

    def _parts(self, level: Level, number: int) -> Sequence[Target]:
        """Return the part of the data that all steps of a stage see.

        If the level is orthonormal, the part is in its coordinates. In many dimensions, a new part
        in each step would push the particles back and forth at random. In few dimensions, particles
        would gather at the rows of a fixed part.
        """
        is_last = number + 1 == len(self.spec.schedule)
        keys = self._keys(Draw.PART, (number, 0), None if is_last else (number + 1, 0))
        parts = [target.part(*asked) for target, asked in zip(self.targets, keys, strict=True)]
        if not level.is_orthonormal:  # then batches enter it, after noise is added to pixels
            return parts
        return self.group.each(lambda part: part.at(level), parts)

    def _estimate(
        self, level: Level, targets: Sequence[Target], state: State, us: list[Tensor]
    ) -> EstimatedMaps:
        """Return the maps from shards u, in the coordinates of the level, to a batch of data."""
        stage, step = state.stage, state.step
        is_last = step + 1 == self.spec.schedule[stage].steps
        keys = self._keys(Draw.BATCH, (stage, step), None if is_last else (stage, step + 1))
        data = [target.batch(*asked) for target, asked in zip(targets, keys, strict=True)]
        if not level.is_orthonormal:
            data = self.group.each(level.enter, data)
        transport = self.spec.engine.transport(self.spec.shape, self.spec.condition)
        subset = self._subset(state, us)
        return EstimatedMaps(transport, data, subset, self._recorded_knots, self.group)

    def _subset(self, state: State, us: list[Tensor]) -> list[Tensor] | None:
        """Draw the particles of each shard from which F_p is estimated; None for all."""
        n_cdf, m = self.spec.engine.n_cdf, [u.shape[1] for u in us]
        if n_cdf is None or n_cdf >= sum(m):
            return None
        rngs = [Random(seed, Draw.SUBSET, state.stage, state.step) for seed in self.seeds]
        chosen = [
            rng.subset(*sizes)
            for rng, *sizes in zip(rngs, m, self.group.widths(n_cdf), strict=True)
        ]
        return [u[:, torch.from_numpy(columns)] for u, columns in zip(us, chosen, strict=True)]

    def _keys(
        self, draw: Draw, now: tuple[int, int], then: tuple[int, int] | None
    ) -> list[tuple[Key, Key | None]]:
        """Return the key of a draw at this stage and step, and at the next, for each shard."""
        return [
            (Key(seed, draw, *now), None if then is None else Key(seed, draw, *then))
            for seed in self.seeds
        ]

    def fingerprints(self) -> list[str]:
        """Return a checksum of data and settings for each shard: equal ones give equal bits."""
        settings = f"{self.spec.fingerprint()} {self.initial} {self.knots} {self.group.shards}"
        texts = (f"{target.digest()} {settings}" for target in self.targets)
        return [hashlib.sha256(text.encode()).hexdigest() for text in texts]
