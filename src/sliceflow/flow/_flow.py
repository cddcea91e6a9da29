"""The flow to data: maps T = F_q⁻¹ ∘ F_p, estimated anew in each step (Algorithms 1 and 2)."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor

from sliceflow.core._distributed import Group, Merge, SingleProcess
from sliceflow.core._random import Draw, Key, Random, child_seed
from sliceflow.directions import Block
from sliceflow.directions._pyramid import Level
from sliceflow.flow._engines import Engine
from sliceflow.flow._loop import BaseFlow, Record, StageContext, State
from sliceflow.flow._spec import Spec
from sliceflow.flow._starts import Noise, Sampler, Start
from sliceflow.flow._targets import Target
from sliceflow.transport import PackedMap, Values


@dataclass(frozen=True, eq=False)
class Estimate:
    """The maps of a step, from particles to data, estimated block by block.

    Parameters
    ----------
    engine
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

    engine: Engine
    data: list[Tensor]
    subset: list[Tensor] | None
    knots: int | None
    group: Group

    @property
    def width(self) -> int:
        """The number of values along a direction that it holds: those of the data."""
        return sum(rows.shape[1] for rows in self.data)

    def __call__(
        self, theta: Block, rows: slice, zs: list[Tensor], merge: Merge | None
    ) -> tuple[list[Tensor], PackedMap | None]:
        """Return T(z) − z for the values z of each shard along directions θ, these rows of A."""
        z = Values.of(*zs, merge=merge)
        q = Values.of(*self.group.each(theta.project, self.data), merge=merge)
        p = z
        if self.subset is not None:
            p = Values.of(*self.group.each(theta.project, self.subset), merge=merge)
        T = self.engine.displace(z.z, p, q, self.knots)
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
        return State(shards, noise, record=None if self._recorded is None else Record())

    @property
    def _recorded(self) -> int | None:
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
    ) -> Estimate:
        """Return the maps from shards u, in the coordinates of the level, to a batch of data."""
        stage, step = state.stage, state.step
        is_last = step + 1 == self.spec.schedule[stage].steps
        keys = self._keys(Draw.BATCH, (stage, step), None if is_last else (stage, step + 1))
        data = [target.batch(*asked) for target, asked in zip(targets, keys, strict=True)]
        if not level.is_orthonormal:
            data = self.group.each(level.enter, data)
        return Estimate(self.spec.engine, data, self._subset(state, us), self._recorded, self.group)

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
        settings = f"{self.spec!r} {self.initial} {self.knots} {self.group.shards}"
        texts = (f"{target.digest()} {settings}" for target in self.targets)
        return [hashlib.sha256(text.encode()).hexdigest() for text in texts]
