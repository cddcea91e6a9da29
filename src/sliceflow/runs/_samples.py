"""Samples of flows as files have them, for the command line and the server."""

import numpy as np
import torch

from sliceflow.codec._scaling import to_bytes
from sliceflow.model import Model

MAX_PIXELS = 89_478_485
"""Maximum number of pixels of a picture: Pillow refuses larger ones as a possible attack."""


def as_bytes(x: np.ndarray) -> np.ndarray:
    """Return samples, of which images with values from −1 to 1 become bytes."""
    is_brightness = x.ndim == 4 and x.dtype != np.uint8
    return np.asarray(to_bytes(torch.from_numpy(x))) if is_brightness else x


def arrays_of(model: Model, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file of samples x given y."""
    arrays = {"images" if x.ndim == 4 else "x": x}
    if y is not None:
        # words and numbers together as text: objects could not be read back safely
        arrays["y" if model.codec.classes is None else "labels"] = (
            y.astype(str) if y.dtype == object else y
        )
    return arrays


def columns_of(x: np.ndarray, y: np.ndarray | None) -> list[np.ndarray]:
    """Return the columns of x, and after them those of y."""
    return [*x.T, *([] if y is None else y.reshape(len(y), -1).T)]
