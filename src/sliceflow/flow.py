"""The flow: one step, one state, one loop.

A step moves every particle along every direction by its one-dimensional transport map:

    z = A x                    project the particles on H directions
    T = F_q⁻¹ ∘ F_p            one monotone map for each direction
    x = x + w Aᵀ (T(z) − z)    move the free coordinates; the condition stays

The weight w is η/H where directions are averaged, and 1 where they are orthonormal. Particles are
columns: M particles of D coordinates are a (D, M) matrix, and their values along H directions are
(H, M), so that the values of one map lie together.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sliceflow._random import Draw, generator, normal
from sliceflow._threads import parallel
from sliceflow.conditions import Condition
from sliceflow.engines import Engine, Fast
from sliceflow.projections import Block, Operator
from sliceflow.pyramid import Level
from sliceflow.schedules import Stage
from sliceflow.starts import Noise, Start
from sliceflow.targets import Target


@dataclass
class State:
    """All that changes while a flow runs: save it to stop, load it to go on.

    Particles have shape (D, M). ``offline`` ones, (D, L), ride along: the maps move them, but are
    not estimated from them. ``stage`` and ``step`` are those that come next.

    While a stage moves particles in the coordinates of its level, both swarms there are ``inner``
    and the particles above are as they were when it began; `Flow.settle` brings them up to date.
    A step that was interrupted has moved some tiles and not others: go on from a saved state.
    """

    particles: Tensor
    offline: Tensor
    stage: int = 0
    step: int = 0
    inner: list[Tensor] | None = None


Callback = Callable[[State], object]
"""Called with the state after each step."""


@dataclass(frozen=True)
class Setting:
    """What the steps of a stage share."""

    level: Level
    target: Target
    law: Any


@dataclass(frozen=True, eq=False)
class Flow:
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
    seed: int = 0
    offline_seed: int = 0
    _settings: dict[int, Setting] = field(default_factory=dict, init=False, repr=False)

    def start(self, n: int, offline: Tensor | None = None) -> State:
        """Draw n particles from p₀(x, y) = p₀(x | y) q(y).

        ``offline`` particles, joined by the condition, keep their y and get such an x too.
        """
        rng = generator(self.seed, Draw.CONDITIONS)
        particles = self.condition.initial(self.target, rng, n)
        offline = particles[:, :0] if offline is None else offline.clone()
        d, rng = math.prod(self.shape), generator(self.seed, Draw.GAUSSIAN)
        draw_x = self.initial.sampler(self.target, self.condition, d, rng)
        self._set_free(particles, draw_x(generator(self.seed, Draw.START), particles))
        rng = generator(self.offline_seed, Draw.OFFLINE_START)
        self._set_free(offline, draw_x(rng, offline))
        return State(particles, offline)

    def _set_free(self, particles: Tensor, x: Tensor) -> None:
        z, free = torch.cat([x, particles[len(x) :]]), self.condition.free
        particles[free] = z[free]

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
        setting, us = self._setting(state), self._inner(state)
        number = 0 if self.fixed_directions else state.step
        rng = generator(self.seed, Draw.DIRECTIONS, state.stage, number)
        A = self.engine.draw(setting.law, rng, state.particles)
        w = A.level.enter(setting.target.batch(self._rng(Draw.BATCH, state)))
        vs = [A.level.enter(u) for u in us]
        at_once = A.is_disjoint and not self._leaves_each_step
        moves = vs if at_once else [torch.zeros_like(v) for v in vs]
        weight = self.engine.weight(setting.law)
        add_moves(A, self.engine, vs, w, self._counted(state), weight, onto=moves)
        if not at_once:
            moves = [A.level.leave(move) for move in moves]
            self._apply(state, moves, eta=weight * len(A))
        self._advance(state)

    @property
    def _leaves_each_step(self) -> bool:
        """Whether particles leave their level after each step, for what is done pixel by pixel."""
        return self.condition.freezes_x or self.entropy > 0

    def _apply(self, state: State, moves: list[Tensor], eta: float) -> None:
        """Add the moves, in the coordinates of the stage's level, to what is free; then noise."""
        free, level = self.condition.free, self._setting(state).level
        if not self._leaves_each_step:
            for u, move in zip(self._inner(state), moves, strict=True):
                u[free] += move[free]
            return
        noise = self._rng(Draw.NOISE, state), self._rng(Draw.OFFLINE_NOISE, state)
        for x, move, rng in zip((state.particles, state.offline), moves, noise, strict=True):
            x[free] += level.leave(move)[free]
            if self.entropy:
                x[free] += (2 * self.entropy * eta) ** 0.5 * normal(rng, x[free])
        state.inner = None

    def _advance(self, state: State) -> None:
        """Count the step; after the last one of its stage, settle."""
        if state.step + 1 < self.schedule[state.stage].steps:
            state.step += 1
            return
        self.settle(state)
        self._settings.clear()
        state.stage, state.step = state.stage + 1, 0

    def settle(self, state: State) -> None:
        """Bring the particles up to date with their coordinates at the level of the stage."""
        if state.inner is not None:
            for x, u in zip((state.particles, state.offline), state.inner, strict=True):
                self._setting(state).level.update(x, u)
        state.inner = None

    def _inner(self, state: State) -> list[Tensor]:
        """Return both swarms in the coordinates of the stage's level."""
        if state.inner is None:
            level = self._setting(state).level
            state.inner = [level.enter(x) for x in (state.particles, state.offline)]
        return state.inner

    def _setting(self, state: State) -> Setting:
        """Return what the steps of this stage share, made when it begins."""
        if state.stage not in self._settings:
            stage, like = self.schedule[state.stage], state.particles
            level, target = self.engine.level(stage, self.shape, like), self.target
            if stage.resolution is not None:
                # In many dimensions, other rows for each step would tear the particles to and fro
                # by chance. In few, particles would gather at rows that stay.
                target = target.part(generator(self.seed, Draw.PART, state.stage))
            target, rng = target.at(level), generator(self.seed, Draw.AXES, state.stage)
            law = self.engine.directions(stage, self.shape, self.condition, target, rng)
            self._settings[state.stage] = Setting(level, target, law)
        return self._settings[state.stage]

    def _counted(self, state: State) -> Tensor | None:
        """Return which particles F_p is estimated from, if not all."""
        m = state.particles.shape[1]
        if self.n_cdf is None or self.n_cdf >= m:
            return None
        return torch.from_numpy(self._rng(Draw.SUBSET, state).choice(m, self.n_cdf, replace=False))

    def _rng(self, draw: Draw, state: State) -> np.random.Generator:
        seed = self.offline_seed if draw is Draw.OFFLINE_NOISE else self.seed
        return generator(seed, draw, state.stage, state.step)


def add_moves(
    A: Operator,
    engine: Engine,
    us: list[Tensor],
    w: Tensor,
    counted: Tensor | None,
    weight: float,
    onto: list[Tensor],
) -> None:
    """Add w Aᵀ (T(A u) − A u) of each swarm u to what it moves (equations 7 and 8).

    T maps the ``counted`` particles of the first swarm (D, M) to the data (D, N). Blocks that
    touch no coordinate twice are worked on in parallel, and may move u itself.
    """
    if us[-1].shape[1] == 0:  # nobody offline
        us, onto = us[:1], onto[:1]

    some = us[0] if counted is None else us[0][:, counted]

    def add(theta: Block) -> None:
        zs = [theta.project(u) for u in us]
        p = zs[0] if counted is None else theta.project(some)
        engine.displace(zs, p, theta.project(w))
        for z, move in zip(zs, onto, strict=True):
            theta.lift(z, move, weight)

    blocks = A.blocks(max(u.shape[1] for u in (*us, w)))
    if A.is_disjoint:
        parallel(add, blocks)
    else:
        for theta in blocks:
            add(theta)
