"""Conditions to particles, and particles to samples; see `codec._codec`."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sliceflow.core._reading import FileError
from sliceflow.files._archive import Archive, Config, Sizes
from sliceflow.runtime._stages import Shape

MAX_EXACT = 2**53
"""The largest magnitude up to which all integers are exact in float64."""

NEEDS_PYTORCH = "it is sampled with PyTorch only: use sliceflow.load"


@dataclass(frozen=True, eq=False)
class Codec:
    """What is given, as particles (D, M) in the units of the flow; and x of particles.

    Parameters
    ----------
    shape, dtype
        Of one x.
    l
        The number of coordinates below x.
    classes
        The labels that may be given; None if labels are not.
    mask
        Which coordinates of x are given, (d,); None if none are.
    shift, scale
        Of each coordinate, (D, 1).
    support
        The given coordinates, and their edges and ends in the data, (k, 2).
    """

    shape: Shape
    dtype: np.dtype
    l: int
    classes: np.ndarray | None
    mask: np.ndarray | None
    shift: np.ndarray
    scale: np.ndarray
    support: tuple[np.ndarray, np.ndarray, np.ndarray]

    @classmethod
    def read(cls, archive: Archive) -> Self:
        """Read the codec of a model file."""
        config, shape = archive.config, tuple(archive.config["shape"])
        condition, d = config["condition"], math.prod(shape)
        if condition["n_summary"] or config["words"]:
            raise FileError(f"it predicts x from numbers or words y, so {NEEDS_PYTORCH}")
        name, l = condition["name"], condition["l"]
        sizes: Sizes = {"shift": (d + l, 1), "scale": (d + l, 1)}
        classes, mask = None, None
        if name == "Label":
            classes = np.array(config["classes"][1], _text(config["classes"][0]))
        if name == "Observed":
            mask = archive.arrays("observed.safetensors", {"mask": (d,)})["mask"]
        scaling = archive.arrays("scaling.safetensors", sizes)
        support = _support(archive, mask, d, l)
        kind = shape, _dtype(config), l, classes, mask
        return cls(*kind, scaling["shift"], scaling["scale"], support)

    def given(self, n: int, y: Any) -> np.ndarray:
        """Return particles of n samples whose conditions are given; x is arbitrary."""
        d = math.prod(self.shape)
        z = np.zeros((d + self.l, n))
        if self.mask is not None:
            rows = _one_or_each(np.asarray(y, float), n, self.shape).reshape(n, d).T
            z[self.mask] = rows[self.mask]
        elif self.classes is not None:
            z[d + self._numbers(y, n), np.arange(n)] = 1
        elif self.l:
            each = np.asarray(y, float)
            each = each[:, None] if self.l == 1 and each.ndim == 1 else each
            z[d:] = _one_or_each(each, n, (self.l,)).T
        elif y is not None:
            raise ValueError("the model is unconditional: leave out y")
        scaled: np.ndarray = (self._clipped(z) - self.shift) / self.scale
        return scaled

    def decode(self, z: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """Return x of particles; observed coordinates are those of the particles given."""
        d = math.prod(self.shape)
        if self.mask is not None:
            z = np.where(self.mask[:, None], observed, z)
        x = z[:d] * self.scale[:d] + self.shift[:d]
        if not np.isfinite(x).all():
            raise FloatingPointError("the samples are not finite: the model is damaged")
        if self.dtype == bool:
            x = x > 0.5
        elif self.dtype.kind in "iu":
            limits = np.iinfo(self.dtype)
            x = x.round().clip(max(limits.min, -MAX_EXACT), min(limits.max, MAX_EXACT))
        return np.ascontiguousarray(x.T.reshape(-1, *self.shape).astype(self.dtype))

    def _numbers(self, y: Any, n: int) -> np.ndarray:
        """Return the class numbers of n samples."""
        assert self.classes is not None
        known = {label: number for number, label in enumerate(self.classes.tolist())}
        labels = _one_or_each(np.asarray(y), n, ()).tolist()
        if unknown := [label for label in labels if label not in known]:
            raise ValueError(f"y has the unknown label {unknown[0]}: the model has {[*known]}")
        return np.array([known[label] for label in labels])

    def _clipped(self, z: np.ndarray) -> np.ndarray:
        """Return particles with given numbers clipped to the range of the data."""
        given, edges, ends = self.support
        if ((z[given] < ends[:, :1]) | (z[given] > ends[:, 1:])).any():
            warnings.warn("y is beyond the data: samples are those of its range", stacklevel=4)
        z[given] = z[given].clip(edges[:, :1], edges[:, 1:])
        return z


def _dtype(config: Config) -> np.dtype:
    """Return the dtype of x; NumPy has no bfloat16."""
    name = config["x"]["dtype"].removeprefix("torch.")
    return np.dtype("float32" if name == "bfloat16" else name)


def _text(dtype: str) -> str:
    """Return the dtype of labels; that of text may be longer than it was written."""
    return "U" if np.dtype(dtype).kind == "U" else dtype


def _support(
    archive: Archive, mask: np.ndarray | None, d: int, l: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read which coordinates are given numbers, and their range in the data."""
    given = np.arange(0)
    if archive.config["has_support"]:
        given = np.arange(d, d + l) if mask is None else np.flatnonzero(mask)
        size = (len(given), 2)
        part = archive.arrays("support.safetensors", {"edges": size, "ends": size})
        return given, part["edges"], part["ends"]
    return given, np.empty((0, 2)), np.empty((0, 2))


def _one_or_each(y: np.ndarray, n: int, shape: Shape) -> np.ndarray:
    """Return n values of this shape, given one for all or one for each."""
    if y.shape == shape:
        return np.broadcast_to(y, (n, *shape))
    if y.shape == (n, *shape):
        return y
    raise ValueError(f"y has shape {y.shape}: pass shape {shape}, or {(n, *shape)} for {n} samples")
