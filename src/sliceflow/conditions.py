"""Conditions: the part y of a particle (x, y) that guides the flow and is never moved.

A condition answers three questions:

- How does it enter a projection? As ``l`` coordinates below those of x, written there by `join`,
  whose part of a projection is amplified by ξ: z = θ_xᵀ x + ξ θ_yᵀ y.
- What is frozen? Every coordinate that is not `free` (the paper's velocity masking).
- How are initial conditions drawn? `initial`, from the data, so that p₀(y) = q(y).
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from sliceflow._random import Random
from sliceflow.targets import Target

Index = slice | Tensor


class Condition(ABC):
    """Base of all conditions."""

    l: int = 0
    amplifier: float = 1.0
    freezes_x: bool = False
    """Whether some coordinates of x itself are frozen, and not only those below x."""
    free: Index
    """The coordinates of a joined particle that the flow moves."""

    @abstractmethod
    def join(self, x: Tensor, y: Tensor | None) -> Tensor:
        """Write x, with shape (d, M), and y as particles (d + l, M)."""

    @abstractmethod
    def split(self, z: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return x and y of joined particles."""

    def set_free(self, z: Tensor, x: Tensor) -> None:
        """Write x, (d, M), where joined particles z are free."""
        joined = torch.cat([x, z[len(x) :]])
        z[self.free] = joined[self.free]

    def initial(self, target: Target, rng: Random, n: int) -> Tensor:
        """Draw n particles whose frozen part follows the data; their free part is not used."""
        return target.draw(rng, n)


class Unconditional(Condition):
    """No condition: p(x)."""

    free: Index = slice(None)

    def join(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Return ``x``."""
        return x

    def split(self, z: Tensor) -> tuple[Tensor, None]:
        """Return ``z``, and no y."""
        return z, None


class Observed(Unconditional):
    """Given some coordinates of x itself, as in inpainting: those where the mask (d,) is true.

    They are projected as the image that they are part of, so there is no amplifier.
    """

    freezes_x = True

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask
        self.free = (~mask).nonzero().squeeze(1)


class Columns(Condition):
    """Given the values of ``l`` continuous columns."""

    def __init__(self, l: int, amplifier: float) -> None:
        self.l = l
        self.amplifier = amplifier
        self.free = slice(-l)

    def join(self, x: Tensor, y: Tensor | None) -> Tensor:
        """Return (x, y) for columns y, with shape (l, M)."""
        assert y is not None
        return torch.cat([x, y])

    def split(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return x and the columns y."""
        return z[: -self.l], z[-self.l :]


class Label(Columns):
    """Given a class, one of ``l``: the columns are its one-hot vector."""

    def join(self, x: Tensor, y: Tensor | None) -> Tensor:
        """Return (x, e_y) for class numbers y, with shape (M,)."""
        assert y is not None
        return super().join(x, torch.nn.functional.one_hot(y, self.l).T.to(x.dtype))

    def split(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return x and the class numbers y."""
        x, e = super().split(z)
        return x, e.argmax(dim=0)


def given_numbers(condition: Condition, shape: tuple[int, ...]) -> Tensor:
    """Return which coordinates of joined particles are columns of numbers that are given, (k,)."""
    d = math.prod(shape)
    if isinstance(condition, Observed):
        return torch.arange(0) if len(shape) == 3 else condition.mask.nonzero()[:, 0]
    return torch.arange(d, d + (0 if isinstance(condition, Label) else condition.l))
