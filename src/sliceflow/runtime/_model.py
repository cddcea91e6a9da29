"""A recorded flow, replayed with NumPy: the loop of `flow._flow` with the maps of a file.

All is in float64, so that the page in `web`, which has no other numbers, comes to the same samples:
steep maps enlarge what rounding changes, step by step.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sliceflow.core._groups import SAMPLE_BATCH, group_size
from sliceflow.core._random import Draw, Key, NumPyRandom, Random, child_seed
from sliceflow.core._validation import check_integer, check_seed
from sliceflow.files._archive import Archive, Sizes, opened
from sliceflow.files._versions import FORMAT, MIGRATIONS, VERSION
from sliceflow.runtime._codec import Codec
from sliceflow.runtime._directions import Directions, exact, fast
from sliceflow.runtime._directions import Draw as DrawDirections
from sliceflow.runtime._levels import Level
from sliceflow.runtime._maps import Maps
from sliceflow.runtime._stages import Shape, Stage


@dataclass(frozen=True, eq=False)
class RuntimeStage:
    """What the steps of a stage share, and their maps.

    Parameters
    ----------
    stage, level
        The stage, and the level whose coordinates its directions refer to.
    draw
        Draws the directions of the steps.
    weight, variance
        The weight w of a step of full size, and the variance of the noise that it adds.
    stays
        Whether particles stay at the level from step to step.
    is_fixed
        Whether all steps have the directions of the first.
    maps
        The maps of each step.
    """

    stage: Stage
    level: Level
    draw: DrawDirections
    weight: float
    variance: float
    stays: bool
    is_fixed: bool
    maps: list[Maps]

    def moves(self, u: np.ndarray, step: int, A: Directions) -> np.ndarray:
        """Return w Aᵀ (T(A u) − A u) for particles u at the level."""
        T, w = self.maps[step], self.weight * self.stage.size_of(step)
        moves: np.ndarray = w * A.lift(T.displacements(A.project(u)), like=u)
        return moves


@dataclass(frozen=True, eq=False)
class RuntimeModel:
    """A recorded flow, which draws samples.

    Parameters
    ----------
    codec
        Between what is given, particles, and x.
    stages
        The stages of the flow.
    start
        Means and factors of each class, or of each cluster of it; None for noise.
    clusters, together
        The number of clusters of a class, and of factors in a blend; None for a Gaussian.
    std
        The standard deviation of the noise.
    seed, random
        The seed of all directions, and how random numbers are drawn.
    """

    codec: Codec
    stages: tuple[RuntimeStage, ...]
    start: dict[str, np.ndarray] | None
    clusters: int | None
    together: int | None
    std: float
    seed: int
    random: type[Random]

    @property
    def shape(self) -> Shape:
        """The shape of one x: (d,) or (C, h, w)."""
        return self.codec.shape

    def sample(self, n: int, y: Any = None, random_state: Any = None) -> np.ndarray:
        """Return n new samples of x, given y if the model is conditional.

        Parameters
        ----------
        n : int
            The number of samples.
        y : label, columns, or row of x, or n of them
            The condition, one for all samples or one for each.
        random_state : int, NumPy generator or None
            The seed of these samples: the same seed gives the same samples.
        """
        n, seed = check_integer("n", n, 1), check_seed(random_state)
        given = self.codec.given(n, y)
        size = group_size(self.shape, len(self.codec.shift))
        parts = [
            self._moved(given[:, first : first + size].copy(), seed, first // SAMPLE_BATCH)
            for first in range(0, n, size)
        ]
        return self.codec.decode(np.concatenate(parts, axis=1), given)

    def _moved(self, z: np.ndarray, seed: int, first: int) -> np.ndarray:
        """Return particles (D, n), moved onto the data; ``first`` numbers their first batch."""
        free = self._free
        for number, column in enumerate(range(0, z.shape[1], SAMPLE_BATCH)):
            batch, own = z[:, column : column + SAMPLE_BATCH], child_seed(seed, first + number)
            x = self._start(batch, self.random(own, Draw.SAMPLE_START))
            batch[free] = np.concatenate([x, batch[len(x) :]])[free]
        for number, stage in enumerate(self.stages):
            if stage.stays:
                self._stay(z, number, stage)
            else:
                noise = Key(child_seed(seed, first), Draw.SAMPLE_NOISE, number)
                self._visit(z, number, stage, noise)
        return z

    def _stay(self, z: np.ndarray, number: int, stage: RuntimeStage) -> None:
        """Do the steps of a stage, in the coordinates of its level."""
        u = stage.level.enter(z)
        for step, A in enumerate(self._directions(number, stage)):
            u[self._free] += stage.moves(u, step, A)[self._free]
        stage.level.update(z, u)

    def _visit(self, z: np.ndarray, number: int, stage: RuntimeStage, noise: Key) -> None:
        """Do the steps of a stage; each takes particles to the level and back, and adds noise."""
        free = self._free
        for step, A in enumerate(self._directions(number, stage)):
            moves = stage.moves(stage.level.enter(z), step, A)
            z[free] += stage.level.leave(moves)[free]
            if stage.variance:
                rng = self.random(*noise._replace(step=step))
                deviation = (stage.variance * stage.stage.size_of(step)) ** 0.5
                z[free] += deviation * rng.normal(z[free].T.shape).T

    def _directions(self, number: int, stage: RuntimeStage) -> Iterator[Directions]:
        """Draw the directions of the steps of a stage, one after the other."""
        steps = (0 if stage.is_fixed else step for step in range(stage.stage.steps))
        return stage.draw([self.random(self.seed, Draw.DIRECTIONS, number, i) for i in steps])

    @property
    def _free(self) -> Any:
        """The coordinates that are moved."""
        mask, l = self.codec.mask, self.codec.l
        return slice(-l if l else None) if mask is None else np.flatnonzero(~mask)

    def _start(self, z: np.ndarray, rng: Random) -> np.ndarray:
        """Draw where particles (D, n) begin, (d, n)."""
        d, n = math.prod(self.shape), z.shape[1]
        if self.start is None:
            return self.std * rng.normal((n, d)).T.astype(float)
        means, factors = self.start["means"], self.start["factors"]
        part = z[d:].argmax(axis=0) if self.codec.classes is not None else np.zeros(n, int)
        L = self.clusters or 0
        noise, x = rng.normal((n, L + factors.shape[2])).T.astype(float), np.empty((d, n))
        weights = noise[L:]
        if self.together is not None:
            part = L * part + noise[:L].argmax(axis=0)
            weights = _largest(weights, self.together)
        for g in np.unique(part):
            x[:, part == g] = means[g] + factors[g].astype(float) @ weights[:, part == g]
        return x


def _largest(noise: np.ndarray, n: int) -> np.ndarray:
    """Return the n largest of each column, brought to the length √r, and zero for others."""
    weights, chosen = np.zeros_like(noise), noise.argsort(axis=0)[-n:]
    np.put_along_axis(weights, chosen, np.take_along_axis(noise, chosen, axis=0), axis=0)
    longer: np.ndarray = weights * len(noise) ** 0.5 / np.linalg.norm(weights, axis=0)
    return longer


def load(path: str | Path) -> RuntimeModel:
    """Read a model of a flow from a file. `FileError` says what is wrong with it."""
    with opened(Path(path), FORMAT, VERSION, MIGRATIONS) as archive:
        config = archive.config
        shape, start = tuple(config["shape"]), None
        codec = Codec.read(archive)
        clusters, together = (config["start"].get(name) for name in ("clusters", "together"))
        if config["start"]["name"] in ("GaussianSampler", "BlendSampler"):
            parts = (clusters or 1) * (1 if codec.classes is None else codec.l)
            d = math.prod(shape)
            sizes: Sizes = {"means": (parts, d, 1), "factors": (parts, d, None)}
            start = archive.arrays("start.safetensors", sizes)
        stages = [_stage(archive, number, codec) for number in range(len(config["schedule"]))]
        random = {"Random": Random, "NumPyRandom": NumPyRandom}[config["random"]]
        std, seed = config["start"].get("std", 1.0), config["seed"]
        return RuntimeModel(codec, tuple(stages), start, clusters, together, std, seed, random)


def _stage(archive: Archive, number: int, codec: Codec) -> RuntimeStage:
    """Read a stage, and the maps of its steps."""
    config, shape = archive.config, codec.shape
    stage, engine = Stage.of(config["schedule"][number], shape), config["engine"]
    is_fast, amplifier = engine["name"] == "Fast", config["condition"]["amplifier"]
    sizes: Sizes = dict.fromkeys(("knots", "low", "high"), (stage.steps, 2, None, None))
    if stage.bands != (None,):
        sizes["axes"] = (None, None)
    part = archive.arrays(f"stage-{number:03}.safetensors", sizes)
    level = Level.of(stage, shape, is_orthonormal=is_fast)
    maps = [Maps(*T) for T in zip(part["knots"], part["low"], part["high"], strict=True)]
    if is_fast:
        draw = fast(stage, codec.l, amplifier, part.get("axes"))
        stays = codec.mask is None
        return RuntimeStage(stage, level, draw, engine["step_size"], 0, stays, False, maps)
    h, entropy, d = engine["n_directions"], engine["entropy"], math.prod(stage.at_level)
    eta = engine["step_size"] or d * h / (h + d - 1)
    draw = exact(stage, shape, h, codec.l, amplifier)
    fixed, stays = engine["fixed_directions"], not stage.is_at_level and codec.mask is None
    return RuntimeStage(
        stage, level, draw, eta / h, 2 * entropy * eta, stays and not entropy, fixed, maps
    )
