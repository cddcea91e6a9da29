"""Every random draw has its own seed, made from (seed, stage, step) and what is drawn.

No draw depends on earlier draws, so a run can stop at any step and resume with the same bits. No
draw depends on threads, chunks or the device, because all are made on the CPU. There is no global
random state.

A model file has the seed but not the directions, so a draw must have the same bits everywhere and
forever. NumPy may change the streams of its `Generator` in any release. Its bit generators have
stronger guarantees (https://numpy.org/doc/stable/reference/random/compatibility.html): "PCG64 makes
a guarantee that a fixed seed will always produce the same random integer stream". So draws are made
here from these integers, with only +, −, ×, ÷ and √, which IEEE 754 defines to the last bit.
NumPy's logarithm differs between versions and between CPUs.
"""

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

NORMAL_CHUNK = 2**14
"""Number of normal numbers made at a time: few enough to stay in the cache."""


class Draw(IntEnum):
    """What is drawn. The numbers are part of the seed: never reuse one."""

    CONDITIONS = 0
    START = 1
    DIRECTIONS = 2
    BATCH = 3
    SUBSET = 4
    NOISE = 5
    SAMPLE_START = 6
    SAMPLE_NOISE = 7
    AXES = 8
    GAUSSIAN = 9
    ORDER = 10
    PART = 11
    COMPARED = 12
    ROTATION = 13
    PROBE = 14
    CENTRES = 15
    TABLE = 16


class Random:
    """The random numbers of one draw of one step. How they are made must never change."""

    def __init__(self, seed: int, draw: Draw, stage: int = 0, step: int = 0) -> None:
        self._bits = np.random.PCG64((seed, stage, step, int(draw)))

    def _words(self, n: int) -> np.ndarray:
        """Draw n 32-bit integers: the lower, then the upper half of each integer of PCG64."""
        both = self._bits.random_raw(-(-n // 2)).astype("<u8", copy=False)
        return both.view("<u4")[:n]

    def uniform(self, n: int) -> np.ndarray:
        """Draw n multiples of 2⁻³² in [0, 1)."""
        return self._words(n) * 2.0**-32

    def integers(self, n: int, size: int) -> np.ndarray:
        """Draw integers in [0, n). The probability of each differs from 1/n by less than 2⁻⁵³."""
        fraction = (self._bits.random_raw(size) >> np.uint64(11)) * 2.0**-53
        return (n * fraction).astype(np.int64)

    def integer(self, n: int) -> int:
        """Draw one integer in [0, n)."""
        return int(self.integers(n, 1)[0])

    def permutation(self, n: int) -> np.ndarray:
        """Draw a permutation of n items, by sorting random keys.

        The lowest bits of a key are the number of its item. So no two keys are equal, and every
        sorting algorithm gives the same order.
        """
        number_bits = np.uint64(2 ** (int(n) - 1).bit_length() - 1)
        keys = (self._bits.random_raw(n) & ~number_bits) | np.arange(n, dtype=np.uint64)
        keys.sort()
        return (keys & number_bits).astype(np.int64)

    def subset(self, n: int, size: int) -> np.ndarray:
        """Draw ``size`` of n items without replacement."""
        return self.permutation(n)[:size]

    def normal(self, shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
        """Draw from N(0, 1). The first numbers do not depend on how many are drawn."""
        x = np.empty(shape, dtype)
        flat = x.reshape(-1)
        for first in range(0, x.size, NORMAL_CHUNK):
            part = flat[first : first + NORMAL_CHUNK]
            part[:] = normal_quantile(self._words(len(part)))
        return x

    @classmethod
    def normals(
        cls, rngs: Sequence["Random"], shape: tuple[int, ...], dtype: Any = np.float32
    ) -> np.ndarray:
        """Draw from N(0, 1) for each of k draws, (k, *shape): faster than one after the other."""
        words = np.concatenate([rng._words(math.prod(shape)) for rng in rngs])
        return normal_quantile(words).astype(dtype).reshape(len(rngs), *shape)

    def particles(self, like: "Tensor") -> "Tensor":
        """Draw particles from N(0, I), with the shape (d, M), dtype and device of ``like``.

        Drawn particle by particle, so the first particles are the same whatever M is.
        """
        import torch  # here, because models can be sampled without it

        return torch.from_numpy(self.normal(like.T.shape)).T.to(like)


class Key(NamedTuple):
    """What a draw depends on."""

    seed: int
    draw: Draw
    stage: int = 0
    step: int = 0

    def rng(self) -> Random:
        """Return the random numbers of this draw."""
        return Random(*self)


def child_seed(seed: int, number: int) -> int:
    """Return the seed of one of many draws or shards, by its number, from a common seed."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0])


def normal_quantile(k: np.ndarray) -> np.ndarray:
    """Return the quantile of N(0, 1) at probability (k + ½) 2⁻³², for 32-bit integers k.

    This is PPND7 of M. J. Wichura, "Algorithm AS 241: the percentage points of the normal
    distribution", Applied Statistics 37 (1988), accurate to 1e-7. No |x| is above 6.34.
    """
    q = (k - (2.0**31 - 0.5)) * 2.0**-32  # the probability minus ½, exactly
    r = q * q
    np.subtract(0.180625, r, out=r)
    x = _polynomial(r, 59.109374720, 159.29113202, 50.434271938, 3.3871327179)
    x /= _polynomial(r, 67.187563600, 78.757757664, 17.895169469, 1.0)
    x *= q
    tails = np.flatnonzero(np.abs(q) > 0.425)
    x[tails] = _tail_quantile(q[tails])
    return x


def _tail_quantile(q: np.ndarray) -> np.ndarray:
    """Return the quantile of probabilities q + ½ below 0.075 or above 0.925."""
    r = np.sqrt(-_log(0.5 - np.abs(q))) - 1.6
    x = _polynomial(r, 0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777)
    x /= _polynomial(r, 0.12021132975, 0.73700164250, 1.0)
    x *= np.sign(q)
    return x


def _log(x: np.ndarray) -> np.ndarray:
    """Return log x, accurate to 1e-9: x = m 2ᵉ, log m = 2 artanh((m − c)/(m + c)) + log c."""
    m, e = np.frexp(x)
    c = 0.7071067811865476  # √½: since m is from ½ to 1, s is between ±0.172
    s = (m - c) / (m + c)
    log: np.ndarray = 2 * s * _polynomial(s * s, 1 / 9, 1 / 7, 1 / 5, 1 / 3, 1.0)
    log += (e - 0.5) * 0.6931471805599453
    return log


def _polynomial(x: np.ndarray, first: float, second: float, *others: float) -> np.ndarray:
    """Return a polynomial of x, with coefficients from the highest power down."""
    y: np.ndarray = first * x
    y += second
    for coefficient in others:
        y *= x
        y += coefficient
    return y


class NumPyRandom(Random):
    """Draws of NumPy's `Generator`, for model files of version 1, which were made with it."""

    def __init__(self, seed: int, draw: Draw, stage: int = 0, step: int = 0) -> None:
        super().__init__(seed, draw, stage, step)
        self._generator = np.random.Generator(self._bits)

    def integers(self, n: int, size: int) -> np.ndarray:
        """Draw integers in [0, n)."""
        return self._generator.integers(n, size=size)

    def normal(self, shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
        """Draw from N(0, 1)."""
        return self._generator.standard_normal(shape, dtype)

    @classmethod
    def normals(
        cls, rngs: Sequence[Random], shape: tuple[int, ...], dtype: Any = np.float32
    ) -> np.ndarray:
        """Draw from N(0, 1) for each of k draws, (k, *shape)."""
        return np.stack([rng.normal(shape, dtype) for rng in rngs])

    @classmethod
    def is_unchanged(cls) -> bool:
        """Return whether NumPy still draws the numbers with which these models were made."""
        rng = cls(0, Draw.DIRECTIONS)
        drawn = rng.normal((2,)), rng.normal((2,), np.float64), rng.integers(1000, 2)
        return [*np.concatenate(drawn)] == [
            *(-0.24275270104408264, -2.164008378982544),
            *(0.5417699665061886, 0.6989951901221346),
            *(994, 158),
        ]
