"""Every random draw has its own seed, made from (seed, stage, step) and what is drawn.

Nothing depends on what was drawn before, so a run can stop at any step and go on with the same
bits, and no draw depends on threads, chunks or the device: NumPy makes them on the CPU. There is
no global random state.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Draw(IntEnum):
    """What is drawn. The numbers are part of the seed: never reuse one."""

    CONDITIONS = 0
    START = 1
    DIRECTIONS = 2
    BATCH = 3
    SUBSET = 4
    NOISE = 5
    OFFLINE_START = 6
    OFFLINE_NOISE = 7
    AXES = 8
    GAUSSIAN = 9
    ORDER = 10
    PART = 11
    COMPARED = 12
    ROTATION = 13
    PROBE = 14


class Key(NamedTuple):
    """What a draw depends on."""

    seed: int
    draw: Draw
    stage: int = 0
    step: int = 0

    def rng(self) -> np.random.Generator:
        """Return its generator."""
        return generator(*self)


def generator(seed: int, draw: Draw, stage: int = 0, step: int = 0) -> np.random.Generator:
    """Return the generator of one draw of one step."""
    return np.random.default_rng((seed, stage, step, int(draw)))


def child(seed: int, number: int) -> int:
    """Return the seed of one of many that have a seed in common."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0])


def normal(rng: np.random.Generator, like: Tensor) -> Tensor:
    """Draw particles from N(0, I), with the shape (d, M), dtype and device of ``like``.

    Drawn particle by particle, so the first particles are the same whatever M is.
    """
    d, m = like.shape
    x = rng.standard_normal((m, d), dtype=np.float32)
    return torch.from_numpy(x).T.to(like)
