"""The flow: one step, one state, one loop.

A step moves every particle along every direction by its one-dimensional transport map:

    z = A x                    project the particles on H directions
    T = F_q⁻¹ ∘ F_p            one monotone map for each direction
    x = x + η/H Aᵀ (T(z) − z)  move the free coordinates; the condition stays

Particles are columns: M particles of D coordinates are a (D, M) matrix, and their values along H
directions are (H, M), so that the values of one map lie together.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sliceflow._random import Draw, generator, normal
from sliceflow.conditions import Condition, Index
from sliceflow.projections import BLOCK, Directions, Projection, Rows, slices
from sliceflow.schedules import Stage
from sliceflow.targets import Target
from sliceflow.transport import SortedMap


@dataclass
class State:
    """All that changes while a flow runs: save it to stop, load it to go on.

    Particles have shape (D, M). ``offline`` ones, (D, L), ride along: the maps move them, but are
    not estimated from them. ``stage`` and ``step`` are those that come next.
    """

    particles: Tensor
    offline: Tensor
    stage: int = 0
    step: int = 0


Callback = Callable[[State], object]
"""Called with the state after each step."""


@dataclass(frozen=True, eq=False)
class Flow:
    """A conditional sliced-Wasserstein flow (Algorithm 1).

    With ``fixed_directions`` and an ``entropy`` λ it is the flow of Liutkus et al. (Algorithm 2).

    Parameters
    ----------
    target, condition
        The data, as particles (x, y) joined by the condition, and what is frozen of them.
    shape
        The shape of one x: (d,) or (C, h, w).
    schedule
        The stages, one after the other.
    n_directions
        H, the number of directions of a step.
    step_size
        η. By default d H / (H + d − 1), where d counts the coordinates that the directions reach:
        the paper's η = d if H is much larger, and less if not, because the moves along directions
        that are not orthogonal add up.
    entropy
        λ: each step adds noise of variance 2λη.
    fixed_directions
        Draw the directions once for each stage instead of once for each step.
    n_cdf
        The number of particles, drawn for each step, that F_p is estimated from. By default all.
    memory
        Bytes for the values along directions, the part of a step's memory that can be chosen;
        docs/design.md has the rest. The least is that of one direction at a time.
    seed, offline_seed
        With the stage and the step, ``seed`` determines every draw but the start and the noise of
        offline particles, which are theirs alone.
    """

    target: Target
    condition: Condition
    shape: tuple[int, ...]
    schedule: tuple[Stage, ...]
    n_directions: int
    step_size: float | None = None
    entropy: float = 0.0
    fixed_directions: bool = False
    n_cdf: int | None = None
    memory: int = 2**28
    seed: int = 0
    offline_seed: int = 0

    def start(self, n: int, offline: Tensor | None = None) -> State:
        """Draw n particles from p₀(x, y) = N(x; 0, I) q(y).

        ``offline`` particles, joined by the condition, keep their y and get such an x too.
        """
        free = self.condition.free
        rng = generator(self.seed, Draw.CONDITIONS)
        particles = self.condition.initial(self.target, rng, n)
        offline = particles[:, :0] if offline is None else offline.clone()
        particles[free] = normal(generator(self.seed, Draw.START), particles[free])
        offline[free] = normal(generator(self.offline_seed, Draw.OFFLINE_START), offline[free])
        return State(particles, offline)

    def run(self, state: State, callbacks: Iterable[Callback] = ()) -> State:
        """Do all steps that are left, in place, and call each callback after each step."""
        callbacks = tuple(callbacks)
        while state.stage < len(self.schedule):
            self.step(state)
            for callback in callbacks:
                callback(state)
        return state

    def step(self, state: State) -> None:
        """Do one step, in place: x ← x + η v̂(x) + √(2λη) ε."""
        now = state.stage, state.step
        stage = self.schedule[state.stage]
        law = stage.directions(self.shape, self.condition)
        default = default_step_size(law.reach, self.n_directions)
        eta = default if self.step_size is None else self.step_size
        v, v_offline = self._velocities(law, state)
        self._move(state.particles, v, eta, generator(self.seed, Draw.NOISE, *now))
        noise = generator(self.offline_seed, Draw.OFFLINE_NOISE, *now)
        self._move(state.offline, v_offline, eta, noise)
        last = state.step + 1 == stage.steps
        state.stage, state.step = (state.stage + 1, 0) if last else (state.stage, state.step + 1)

    def _velocities(self, law: Directions, state: State) -> list[Tensor]:
        """Draw the directions and the data of this step, and estimate v̂ at all particles."""
        stage, step = state.stage, state.step
        rng = generator(self.seed, Draw.DIRECTIONS, stage, 0 if self.fixed_directions else step)
        A = law.draw(rng, self.n_directions, state.particles)
        data = self.target.batch(generator(self.seed, Draw.BATCH, stage, step))
        swarms = [state.particles, state.offline]
        return velocities(A, swarms, data, self._counted(state), self.memory)

    def _counted(self, state: State) -> Index:
        """Return which particles F_p is estimated from."""
        m = state.particles.shape[1]
        if self.n_cdf is None or self.n_cdf >= m:
            return slice(None)
        rng = generator(self.seed, Draw.SUBSET, state.stage, state.step)
        return torch.from_numpy(rng.choice(m, self.n_cdf, replace=False))

    def _move(self, x: Tensor, v: Tensor, eta: float, rng: np.random.Generator) -> None:
        free = self.condition.free
        x[free] += v.mul_(eta)[free]
        if self.entropy:
            x[free] += (2 * self.entropy * eta) ** 0.5 * normal(rng, x[free])


def default_step_size(d: int, h: int) -> float:
    """Return the η that brings a shifted Gaussian nearest to the target in one step, on average.

    An error e becomes e − η/H Σ θθᵀ e. With h directions uniform on the sphere of d dimensions its
    mean square is least for this η: with η = d and H = d it would hardly shrink at all.
    """
    return d * h / (h + d - 1)


def velocities(
    A: Projection, swarms: list[Tensor], data: Tensor, counted: Index, memory: int
) -> list[Tensor]:
    """Estimate v̂(x) = 1/H Σ_h (T_h(θ_hᵀ x) − θ_hᵀ x) θ_h at all x (equations 7 and 8).

    T_h maps the ``counted`` particles of the first swarm (D, M) to the data (D, N).
    """
    us, w = [A.level.enter(x) for x in swarms], A.level.enter(data)
    moves = [torch.zeros_like(u) for u in us]
    for theta in A.blocks():
        add_moves(theta, us, w, counted, memory, moves)
    return [A.level.leave(move).div_(len(A)) for move in moves]


def add_moves(
    theta: Rows, us: list[Tensor], w: Tensor, counted: Index, memory: int, moves: list[Tensor]
) -> None:
    """Add Θᵀ (T(Θ u) − Θ u) of one block of directions to the move of each swarm, in place.

    Directions are independent: as many are mapped at a time as have room in ``memory``.
    """
    zs, q = [theta.project(u) for u in us], theta.project(w)
    for rows in slices(len(theta), chunk_size(memory, sum(z.shape[1] for z in zs), q.shape[1])):
        T = SortedMap.between(zs[0][rows, counted], q[rows])
        for z in zs:
            z[rows] = T(z[rows]) - z[rows]
    for displacement, move in zip(zs, moves, strict=True):
        theta.lift(displacement, onto=move)


def chunk_size(memory: int, m: int, n: int) -> int:
    """Return how many directions can be mapped at a time with m particles and n data rows.

    A block holds four bytes for each value. A value that is being mapped takes 4 more of the data
    (the sorted copy) and about 60 more of a particle (the sorted copy, two indices and what stands
    there, the rank in float64); counted here with what the allocator was seen to keep.
    """
    block = 4 * BLOCK * (m + n)
    return min(max(1, (memory - block) // (110 * m + 16 * n)), BLOCK)
