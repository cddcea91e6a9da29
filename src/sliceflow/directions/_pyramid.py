"""The levels of the image pyramid: small images seen as coordinates of full-size ones.

A level is a linear map shared by all directions of a step. `enter` takes full-size images to the
level. Its adjoint `leave` takes a change made at the level back to full size.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from sliceflow.core._threads import parallel, single_threaded
from sliceflow.directions._operator import slices

CPU_COLUMNS = 512
"""Number of particles that are resampled together on a CPU: more do not fit into its caches."""


def lanczos(n: int, k: int, lobes: int = 5) -> Tensor:
    """Return the matrix that resamples a line of k pixels to n ≥ k pixels, with shape (n, k).

    Pixel centres are at half-integers and each row sums to one, so a constant stays constant at
    the border too. Five lobes, as in the paper's own code.
    """
    position = (torch.arange(n, dtype=torch.float64) + 0.5) * k / n - 0.5
    t = position[:, None] - torch.arange(k)
    weights = torch.where(t.abs() < lobes, torch.sinc(t) * torch.sinc(t / lobes), 0.0)
    return weights / weights.sum(dim=1, keepdim=True)


def orthonormal(n: int, k: int) -> Tensor:
    """Return the orthonormal basis nearest to the Lanczos matrix (Löwdin's), with shape (n, k)."""
    u, _, vt = single_threaded(lambda: torch.linalg.svd(lanczos(n, k), full_matrices=False))
    basis: Tensor = u @ vt
    return basis


def level_shape(shape: tuple[int, int, int], k: int) -> tuple[int, int, int]:
    """Return the shape of the level of images (C, h, w) whose shorter side is k."""
    channels, h, w = shape
    return channels, round(h * k / min(h, w)), round(w * k / min(h, w))


class Level(Protocol):
    """A linear map, which all directions of a step share, and its adjoint."""

    @property
    def is_orthonormal(self) -> bool:
        """Whether `enter` undoes `leave`: then particles can stay at the level."""

    def enter(self, x: Tensor) -> Tensor:
        """Return particles (D, M) in the coordinates of the level, which directions refer to."""

    def leave(self, u: Tensor) -> Tensor:
        """Return a change in these coordinates as a change of particles: adjoint of `enter`."""

    def update(self, x: Tensor, u: Tensor) -> None:
        """Update particles x from their coordinates u; requires that `enter` undoes `leave`."""


class FullSize:
    """The level of tables, and of images at full size: nothing is resampled."""

    is_orthonormal = True

    def enter(self, x: Tensor) -> Tensor:
        """Return ``x``."""
        return x

    def leave(self, u: Tensor) -> Tensor:
        """Return ``u``."""
        return u

    def update(self, x: Tensor, u: Tensor) -> None:
        """Copy u to x, unless it is x itself."""
        if u is not x:
            x.copy_(u)


@dataclass(frozen=True, eq=False)
class LanczosLevel:
    """Images (C, h, w) at size a×b: u = Rᵀ x Q, with Lanczos matrices R (h, a) and Q (w, b).

    A direction θ of a×b pixels stands for the full-size direction R θ Qᵀ, its upsampling, since
    ⟨R θ Qᵀ, x⟩ = ⟨θ, Rᵀ x Q⟩: the full-size direction is never built. Coordinates after the
    image's (conditions) pass through unchanged.
    """

    shape: tuple[int, int, int]
    rows: Tensor
    columns: Tensor
    is_orthonormal: bool = False

    @classmethod
    def at(cls, shape: tuple[int, int, int], k: int, like: Tensor) -> Self:
        """Return the level whose shorter side is k, of the dtype and on the device of ``like``."""
        (_, h, w), (_, a, b) = shape, level_shape(shape, k)
        return cls(shape, lanczos(h, a).to(like), lanczos(w, b).to(like))

    @classmethod
    def orthonormal_at(cls, shape: tuple[int, int, int], k: int, like: Tensor) -> Self:
        """Return the same level in orthonormal coordinates: `enter` undoes `leave`.

        Then a stage can keep its particles at the level, with only C·a·b coordinates each.
        """
        (_, h, w), (_, a, b) = shape, level_shape(shape, k)
        return cls(shape, orthonormal(h, a).to(like), orthonormal(w, b).to(like), True)

    def enter(self, x: Tensor) -> Tensor:
        """Return Rᵀ x Q of images (C·h·w + l, M), with shape (C·a·b + l, M)."""
        return self._of_all(x, self._enter, len(x) + self._at_level - math.prod(self.shape))

    def leave(self, u: Tensor) -> Tensor:
        """Return R u Qᵀ: upsample (C·a·b + l, M) to full size."""
        return self._of_all(u, self._leave, len(u) - self._at_level + math.prod(self.shape))

    def update(self, x: Tensor, u: Tensor) -> None:
        """Add R (u − Rᵀ x Q) Qᵀ to the image: detail that the level does not see stays."""
        size = math.prod(self.shape)

        def update(columns: slice) -> None:
            x[:size, columns] += self._leave(u[:, columns] - self._enter(x[:, columns]))[:size]

        parallel(update, _columns(x))

    @property
    def _at_level(self) -> int:
        """The number of coordinates of an image at the level."""
        return self.shape[0] * self.rows.shape[1] * self.columns.shape[1]

    def _of_all(self, x: Tensor, resample: Callable[[Tensor], Tensor], n: int) -> Tensor:
        """Return the n coordinates of particles resampled in parts."""
        u = x.new_empty(n, x.shape[1])

        def write(columns: slice) -> None:
            u[:, columns] = resample(x[:, columns])

        parallel(write, _columns(x))
        return u

    def _enter(self, x: Tensor) -> Tensor:
        return self._resample(self.rows.T, self.columns.T, x)

    def _leave(self, u: Tensor) -> Tensor:
        return self._resample(self.rows, self.columns, u)

    def _resample(self, rows: Tensor, columns: Tensor, x: Tensor) -> Tensor:
        (a, h), (b, w), m = rows.shape, columns.shape, x.shape[1]
        channels = self.shape[0]
        size = channels * h * w
        image = rows @ x[:size].reshape(channels, h, w * m)
        image = columns @ image.reshape(channels * a, w, m)
        image = image.reshape(channels * a * b, m)
        return image if size == len(x) else torch.cat([image, x[size:]])


def _columns(x: Tensor) -> Iterator[slice]:
    """Cut particles (D, M) into parts that are resampled together."""
    m = x.shape[1]
    return slices(m, CPU_COLUMNS if x.device.type == "cpu" else max(m, 1))
