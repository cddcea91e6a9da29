"""The kind of an input array, so that the output can be of the same kind."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

MAX_EXACT = 2**53
"""The largest magnitude up to which all integers are exact in float64."""


@dataclass(frozen=True)
class Kind:
    """The dtype of an array, the shape of one row, and the device; None for NumPy arrays."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    device: torch.device | None = None

    @classmethod
    def of(cls, x: Any) -> Self:
        """Return the kind of ``x``."""
        if isinstance(x, Tensor):
            return cls(x.dtype, tuple(x.shape[1:]), x.device)
        array = np.asarray(x)
        dtype = array.dtype
        if dtype.kind not in "biuf" or dtype.char == "g":  # strings, objects and long doubles
            dtype = np.dtype(np.float64)
        torch_dtype = torch.from_numpy(np.empty(0, dtype.newbyteorder("="))).dtype
        return cls(torch_dtype, array.shape[1:])

    @property
    def is_pixels(self) -> bool:
        """Whether these are images of bytes, from 0 to 255."""
        return self.dtype == torch.uint8 and len(self.shape) == 3

    def with_output(self, output: str | None) -> Self:
        """Return this kind as an array of "numpy" or "torch"; with None, unchanged."""
        if output not in (None, "numpy", "torch"):
            raise ValueError(f'output={output!r}: pass "numpy", "torch" or None')
        if output == "numpy":  # which has no bfloat16
            dtype = torch.float32 if self.dtype == torch.bfloat16 else self.dtype
            return replace(self, dtype=dtype, device=None)
        return replace(self, device=self.device or torch.device("cpu")) if output else self

    def restore(self, values: Tensor) -> Any:
        """Return rows (n, …) as such an array; integers are rounded and clipped to their range."""
        if self.dtype == torch.bool:
            values = values > 0.5
        elif not self.dtype.is_floating_point:
            limits = torch.iinfo(self.dtype)
            low, high = max(limits.min, -MAX_EXACT), min(limits.max, MAX_EXACT)
            values = values.round().clamp(low, high)
        values = values.reshape(-1, *self.shape)
        values = values.to(self.device or "cpu", self.dtype).contiguous()
        return values.numpy() if self.device is None else values

    def concatenate(self, parts: list[Any]) -> Any:
        """Concatenate such arrays."""
        return np.concatenate(parts) if self.device is None else torch.cat(parts)
