"""The flow to data: maps T = F_q⁻¹ ∘ F_p, made anew for each step (Algorithms 1 and 2)."""

import hashlib
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from sliceflow._random import Draw, generator
from sliceflow.conditions import Condition
from sliceflow.course import Course, Record, Setting, State, Transport
from sliceflow.engines import Engine, Fast
from sliceflow.projections import Block, Operator
from sliceflow.schedules import Stage
from sliceflow.starts import Noise, Sampler, Start
from sliceflow.targets import Target
from sliceflow.transport import KNOTS, PackedMap


@dataclass(frozen=True)
class Precision:
    """How finely maps are recorded: by so many knots, each a pair of integers of so many bits."""

    knots: int = KNOTS
    bits: int = 16


@dataclass(frozen=True)
class ToData(Setting):
    """What the steps of a stage share: also the data, at its level, and axes made from it."""

    target: Target
    axes: Tensor | None


@dataclass(frozen=True, eq=False)
class Estimate:
    """The maps of a step, from particles to data (D, N), estimated where they are needed.

    F_p is that of ``some`` particles or, if None, of all of the first swarm.
    """

    engine: Engine
    some: Tensor | None
    data: Tensor
    precision: Precision | None

    @property
    def width(self) -> int:
        """How many values along a direction it holds: those of the data."""
        return self.data.shape[1]

    def __call__(self, theta: Block, rows: slice, zs: list[Tensor]) -> PackedMap | None:
        """Replace values z of each swarm along these directions, rows of A, by T(z) − z."""
        p = zs[0] if self.some is None else theta.project(self.some)
        knots = None if self.precision is None else self.precision.knots
        T = self.engine.displace(zs, p, theta.project(self.data), knots)
        return None if T is None or self.precision is None else T.packed(self.precision.bits)


@dataclass(frozen=True, eq=False)
class Flow(Course):
    """A conditional sliced-Wasserstein flow (Algorithm 1).

    With `Exact`, ``fixed_directions`` and an ``entropy`` λ it is the flow of Liutkus et al.
    (Algorithm 2).

    Parameters
    ----------
    target, condition
        The data, as particles (x, y) joined by the condition, and what is frozen of them.
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
    """

    target: Target
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
    _settings: dict[int, ToData] = field(default_factory=dict, init=False, repr=False)

    def start(self, n: int, offline: Tensor | None = None) -> State:
        """Draw n particles from p₀(x, y) = p₀(x | y) q(y).

        ``offline`` particles, joined by the condition, keep their y and get such an x too.
        """
        rng = generator(self.seed, Draw.CONDITIONS)
        particles = self.condition.initial(self.target, rng, n)
        offline = particles[:, :0] if offline is None else offline.clone()
        draw_x = self.sampler
        for z, seed, draw in (
            (particles, self.seed, Draw.START),
            (offline, self.offline_seed, Draw.OFFLINE_START),
        ):
            self.condition.set_free(z, draw_x(generator(seed, draw), z))
        noise = [(self.seed, Draw.NOISE), (self.offline_seed, Draw.OFFLINE_NOISE)]
        return State([particles, offline], noise, record=Record() if self.precision else None)

    @cached_property
    def sampler(self) -> Sampler:
        """The law of x where particles start, made from the data if need be."""
        rng = generator(self.seed, Draw.GAUSSIAN)
        return self.initial.sampler(self.target, self.condition, math.prod(self.shape), rng)

    def setting(self, state: State) -> ToData:
        """Return what the steps of this stage share, made when it begins."""
        if state.stage not in self._settings:
            self._settings.clear()
            self._settings[state.stage] = self._begin(state.stage, state.particles)
        setting = self._settings[state.stage]
        if state.record is not None and len(state.record.axes) == state.stage:
            state.record.axes.append(setting.axes)
        return setting

    def _begin(self, number: int, like: Tensor) -> ToData:
        stage, target = self.schedule[number], self.target
        level = self.engine.level(stage, self.shape, like)
        if stage.resolution is not None:
            # In many dimensions, other rows for each step would tear the particles to and fro by
            # chance. In few, particles would gather at rows that stay.
            target = target.part(generator(self.seed, Draw.PART, number))
        target, rng = target.at(level), generator(self.seed, Draw.AXES, number)
        axes = self.engine.axes(stage, self.shape, target, rng)
        law = self.engine.directions(stage, self.shape, self.condition, axes)
        return ToData(level, law, target, axes)

    def transport(self, state: State, A: Operator, us: list[Tensor]) -> Transport:
        """Return the maps to a batch of the data."""
        batch = self.setting(state).target.batch(self._rng(Draw.BATCH, state))
        m, some = us[0].shape[1], None
        if self.n_cdf is not None and self.n_cdf < m:
            counted = self._rng(Draw.SUBSET, state).choice(m, self.n_cdf, replace=False)
            some = us[0][:, torch.from_numpy(counted)]
        return Estimate(self.engine, some, A.level.enter(batch), self.precision)

    def fingerprint(self) -> str:
        """Return a sum of data and settings: flows with the same one have the same bits."""
        free = self.condition.free
        settings = (
            *(type(self.condition), self.condition.l, self.condition.amplifier),
            *(free if isinstance(free, slice) else free.tolist(), self.shape, self.schedule),
            *(self.engine, self.initial, self.entropy, self.fixed_directions),
            *(self.n_cdf, self.precision, self.seed),
        )
        return hashlib.sha256(f"{self.target.digest()} {settings}".encode()).hexdigest()

    def _rng(self, draw: Draw, state: State) -> np.random.Generator:
        return generator(self.seed, draw, state.stage, state.step)
