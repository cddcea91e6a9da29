"""Conditions: what a flow is given and must not move (section 4, and inpainting).

A condition answers four questions:

- How do x and y form one particle? `join` joins them, `split` splits them. Below x come ``l``
  coordinates, whose part of a projection is amplified by ξ: z = θ_xᵀ x + ξ θ_yᵀ y.
- Which coordinates may move? Those that are `free`. All others are frozen (the paper's velocity
  masking). If coordinates of x itself are frozen, `mask` says which.
- Which coordinates are given numbers? `numbers`. They are scaled, and clipped to the data's range.
- Which particles share a class? `groups`. Each class starts from its own Gaussian, and has the same
  share of every batch.

`Codec` also knows whether y is labels, by its ``classes``.

To add a condition, write a class here. docs/design.md lists what else has to know it.
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

Index = slice | Tensor
Shape = tuple[int, ...]


class Condition(ABC):
    """Base class of conditions."""

    l: int = 0
    """The number of coordinates below x."""
    amplifier: float = 1.0
    """ξ."""
    mask: Tensor | None = None
    """The coordinates of x itself, (d,), that are given, if there are any."""
    n_groups: int = 1
    """The number of classes; 1 without labels."""
    n_columns: int = 0
    """The number of columns of y."""
    free: Index = slice(None)
    """The coordinates of a joined particle that the flow moves."""
    n_summary: int = 0
    """The number of coordinates of a summary of y, if directions see it instead of y."""

    def __repr__(self) -> str:
        observed = "" if self.mask is None else f"{int(self.mask.sum())} observed"
        return f"{type(self).__name__}({f'l={self.l}' if self.l else observed})"

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

    def numbers(self, shape: Shape) -> Tensor:
        """Return which coordinates of joined particles are given numbers, (k,)."""
        return torch.arange(0)

    def groups(self, z: Tensor) -> Tensor:
        """Return the class number of each joined particle, (M,)."""
        return torch.zeros(z.shape[1], dtype=torch.long, device=z.device)


class Unconditional(Condition):
    """No condition: p(x)."""

    def join(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Return ``x``."""
        return x

    def split(self, z: Tensor) -> tuple[Tensor, None]:
        """Return ``z``, and no y."""
        return z, None


class Observed(Unconditional):
    """Given some coordinates of x itself, as in inpainting: those where the mask (d,) is true.

    They are projected as part of x, so there is no amplifier.
    """

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask
        self.free = (~mask).nonzero().squeeze(1)

    def numbers(self, shape: Shape) -> Tensor:
        """Return the given columns of a table. Given pixels are not scaled or clipped."""
        assert self.mask is not None
        return torch.arange(0) if len(shape) == 3 else self.mask.nonzero()[:, 0]


class Columns(Condition):
    """Given the values of ``l`` continuous columns."""

    def __init__(self, l: int, amplifier: float) -> None:
        self.l = self.n_columns = l
        self.amplifier = amplifier
        self.free = slice(-l)

    def join(self, x: Tensor, y: Tensor | None) -> Tensor:
        """Return (x, y) for columns y, with shape (l, M)."""
        assert y is not None
        return torch.cat([x, y])

    def split(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return x and the columns y."""
        return z[: -self.l], z[-self.l :]

    def numbers(self, shape: Shape) -> Tensor:
        """Return the coordinates below x."""
        d = math.prod(shape)
        return torch.arange(d, d + self.l)


class Summary(Columns):
    """Given the values of ``l`` continuous columns, of which directions see only a summary.

    A codec adds the summary and what it needs for decoding (`codec._residuals`) between x and y.
    """

    def __init__(self, l: int, d: int, n_summary: int) -> None:
        super().__init__(l, 1.0)
        self.n_summary = n_summary
        self.free = slice(d)


class Label(Condition):
    """Given one of ``l`` classes, as a one-hot vector below x."""

    n_columns = 1

    def __init__(self, l: int, amplifier: float) -> None:
        self.l = self.n_groups = l
        self.amplifier = amplifier
        self.free = slice(-l)

    def join(self, x: Tensor, y: Tensor | None) -> Tensor:
        """Return (x, e_y) for class numbers y, with shape (M,)."""
        assert y is not None
        return torch.cat([x, torch.nn.functional.one_hot(y, self.l).T.to(x.dtype)])

    def split(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return x and the class numbers y."""
        return z[: -self.l], self.groups(z)

    def groups(self, z: Tensor) -> Tensor:
        """Return the class number of each joined particle, (M,)."""
        return z[-self.l :].argmax(dim=0)
