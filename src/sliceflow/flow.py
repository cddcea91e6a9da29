"""The flow to data: maps T = F_q⁻¹ ∘ F_p, made anew for each step (Algorithms 1 and 2)."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from sliceflow._random import Draw, Key, Random, child
from sliceflow.conditions import Condition
from sliceflow.course import Course, Record, Setting, State, Transport
from sliceflow.distributed import Alone, Group, Work
from sliceflow.engines import Engine, Fast
from sliceflow.projections import Block, Operator
from sliceflow.schedules import Stage
from sliceflow.starts import Noise, Sampler, Start
from sliceflow.targets import Target
from sliceflow.transport import KNOTS, PackedMap, Values


@dataclass(frozen=True)
class Precision:
    """How finely maps are recorded: by so many knots, each a pair of integers of so many bits."""

    knots: int = KNOTS
    bits: int = 16


@dataclass(frozen=True)
class ToData(Setting):
    """What the steps of a stage share: also the data, at its level, and axes made from it."""

    targets: Sequence[Target]
    axes: Tensor | None


@dataclass(frozen=True, eq=False)
class Estimate:
    """The maps of a step, from particles to data, estimated where they are needed.

    F_p is that of ``some`` particles of each shard or, if None, of all; ``data`` are the rows of
    each shard, (D, N).
    """

    engine: Engine
    some: list[Tensor] | None
    data: list[Tensor]
    precision: Precision | None
    group: Group

    @property
    def width(self) -> int:
        """How many values along a direction it holds: those of the data."""
        return sum(rows.shape[1] for rows in self.data)

    def __call__(
        self, theta: Block, rows: slice, zs: list[Tensor]
    ) -> Work[tuple[list[Tensor], PackedMap | None]]:
        """Return T(z) − z, with the values z of each swarm along these directions, rows of A."""
        n = len(self.data)
        particles, offline = self._values(zs[:n]), zs[n:]
        q = self._values(self.group.each(theta.project, self.data))
        p = particles
        if self.some is not None:
            p = self._values(self.group.each(theta.project, self.some))
        knots = None if self.precision is None else self.precision.knots
        T = yield from self.engine.displace(particles.z, offline, p, q, knots)
        maps = None if T is None or self.precision is None else T.packed(self.precision.bits)
        return [*particles.parts(), *offline], maps

    def _values(self, parts: list[Tensor]) -> Values:
        return Values.of(*parts, is_all=self.group.size == 1)


@dataclass(frozen=True, eq=False)
class Flow(Course):
    """A conditional sliced-Wasserstein flow (Algorithm 1).

    With `Exact`, ``fixed_directions`` and an ``entropy`` λ it is the flow of Liutkus et al.
    (Algorithm 2).

    Parameters
    ----------
    targets, condition
        The data, as particles (x, y) joined by the condition, one target for each shard of this
        process; and what is frozen of them.
    shape
        The shape of one x: (d,) or (C, h, w).
    schedule
        The stages, one after the other.
    engine
        How a step is done: `Fast` or `Exact`.
    initial
        Where particles start: `Noise` or `Gaussian`.
    entropy
        λ: each step adds noise of variance 2λη, where η = w H for H directions.
    fixed_directions
        Draw the directions once for each stage instead of once for each step.
    n_cdf
        The number of particles, drawn for each step, that F_p is estimated from. By default all.
    precision
        How finely to record the maps, if at all.
    seed, offline_seed
        With the stage and the step, ``seed`` determines every draw but the start and the noise of
        offline particles, which are theirs alone.
    group
        The processes that share the work, if there are many.
    """

    targets: Sequence[Target]
    condition: Condition
    shape: tuple[int, ...]
    schedule: tuple[Stage, ...]
    engine: Engine = Fast()  # noqa: RUF009 (it does not change)
    initial: Start = Noise()  # noqa: RUF009
    entropy: float = 0.0
    fixed_directions: bool = False
    n_cdf: int | None = None
    precision: Precision | None = None
    seed: int = 0
    offline_seed: int = 0
    group: Group = Alone()  # noqa: RUF009
    _settings: dict[int, ToData] = field(default_factory=dict, init=False, repr=False)

    def start(self, n: int, offline: Tensor | None = None) -> State:
        """Draw n particles from p₀(x, y) = p₀(x | y) q(y); of these, the shards of this process.

        ``offline`` particles, joined by the condition, keep their y and get such an x too.
        """
        swarms = [
            self.condition.initial(target, Random(seed, Draw.CONDITIONS), m)
            for target, seed, m in zip(self.targets, self.seeds, self.group.widths(n), strict=True)
        ]
        swarms.append(swarms[0][:, :0] if offline is None else offline.clone())
        own = [(seed, Draw.START, Draw.NOISE) for seed in self.seeds]
        own.append((self.offline_seed, Draw.OFFLINE_START, Draw.OFFLINE_NOISE))
        for z, (seed, start, _) in zip(swarms, own, strict=True):
            self.condition.set_free(z, self.sampler(Random(seed, start), z))
        noise = [(seed, noise) for seed, _, noise in own]
        return State(swarms, noise, record=Record() if self._recorded else None)

    @property
    def _recorded(self) -> Precision | None:
        """How finely this process records: of many that make the same maps, the first does."""
        return self.precision if self.group.rank == 0 else None

    @cached_property
    def seeds(self) -> list[int]:
        """The seed of each shard of this process."""
        if self.group.shards == 1:
            return [self.seed]
        return [child(self.seed, number) for number in self.group.own]

    @cached_property
    def sampler(self) -> Sampler:
        """The law of x where particles start, made from the data if need be."""

        def draw(n: int) -> Tensor:
            return self.draw_rows(self.targets, n, Draw.GAUSSIAN)

        rng = Random(self.seed, Draw.ROTATION)
        return self.initial.sampler(draw, self.condition, math.prod(self.shape), rng)

    def draw_rows(self, targets: Sequence[Target], n: int, draw: Draw, stage: int = 0) -> Tensor:
        """Draw n rows of all data, the same on every process."""
        own = [
            target.draw(Random(seed, draw, stage), m)
            for target, seed, m in zip(targets, self.seeds, self.group.widths(n), strict=True)
        ]
        return torch.cat(self.group.gather(own), dim=1)

    def setting(self, state: State) -> ToData:
        """Return what the steps of this stage share, made when it begins."""
        if state.stage not in self._settings:
            self._settings.clear()
            self._settings[state.stage] = self._begin(state.stage, state.swarms[0])
        setting = self._settings[state.stage]
        if state.record is not None and len(state.record.axes) == state.stage:
            state.record.axes.append(setting.axes)
        return setting

    def _begin(self, number: int, like: Tensor) -> ToData:
        stage, targets = self.schedule[number], self.targets
        level = self.engine.level(stage, self.shape, like)
        if stage.resolution is not None:
            # In many dimensions, other rows for each step would tear the particles to and fro by
            # chance. In few, particles would gather at rows that stay.
            is_last = number + 1 == len(self.schedule)
            keys = self._asked(Draw.PART, (number, 0), None if is_last else (number + 1, 0))
            parts = [target.part(*asked) for target, asked in zip(targets, keys, strict=True)]
            targets = self.group.each(lambda part: part.at(level), parts)
        axes = self.engine.axes(
            stage, self.shape, lambda n: self.draw_rows(targets, n, Draw.AXES, number)
        )
        law = self.engine.directions(stage, self.shape, self.condition, axes)
        return ToData(level, law, targets, axes)

    def transport(self, state: State, A: Operator, us: list[Tensor]) -> Transport:
        """Return the maps to a batch of the data."""
        targets, some = self.setting(state).targets, None
        stage, step = state.stage, state.step
        is_last = step + 1 == self.schedule[stage].steps
        keys = self._asked(Draw.BATCH, (stage, step), None if is_last else (stage, step + 1))
        batches = [target.batch(*asked) for target, asked in zip(targets, keys, strict=True)]
        m = [u.shape[1] for u in us[: len(batches)]]
        if self.n_cdf is not None and self.n_cdf < sum(m):
            rngs = [Random(seed, Draw.SUBSET, stage, step) for seed in self.seeds]
            parts = zip(us, rngs, m, self.group.widths(self.n_cdf), strict=False)
            some = [u[:, torch.from_numpy(rng.subset(m, n))] for u, rng, m, n in parts]
        data = self.group.each(A.level.enter, batches)
        return Estimate(self.engine, some, data, self._recorded, self.group)

    def _asked(
        self, draw: Draw, now: tuple[int, int], then: tuple[int, int] | None
    ) -> list[tuple[Key, Key | None]]:
        """Return the key of a draw at this stage and step, and at the next, for each shard."""
        return [
            (Key(seed, draw, *now), None if then is None else Key(seed, draw, *then))
            for seed in self.seeds
        ]

    def fingerprints(self) -> list[str]:
        """Return a sum of data and settings for each shard: the same ones give the same bits."""
        free = self.condition.free
        settings = (
            *(type(self.condition), self.condition.l, self.condition.amplifier),
            *(free if isinstance(free, slice) else free.tolist(), self.shape, self.schedule),
            *(self.engine, self.initial, self.entropy, self.fixed_directions),
            *(self.n_cdf, self.precision, self.seed, self.group.shards),
        )
        texts = (f"{target.digest()} {settings}" for target in self.targets)
        return [hashlib.sha256(text.encode()).hexdigest() for text in texts]
