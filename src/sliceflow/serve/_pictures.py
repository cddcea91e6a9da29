"""Pictures in requests. Their size is checked before they are decoded: it may be huge."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from sliceflow.core._reading import reading
from sliceflow.data._folders import Encoded, read_image

MODES = {1: "L", 3: "RGB"}
"""The mode of a picture with so many channels."""


def read_pictures(texts: Sequence[str], shape: tuple[int, ...]) -> np.ndarray:
    """Return PNG files, in base64, as images (n, C, h, w) of this shape."""
    if shape[0] not in MODES:
        raise ValueError(f"images have {shape[0]} channels, which PNG has not: use Python")
    return np.stack([_read(f"image {i}", text, shape) for i, text in enumerate(texts)])


def _read(name: str, text: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return a picture as an image (C, h, w)."""
    channels, height, width = shape
    with reading(name, "PNG file in base64"):
        data = base64.b64decode(text, validate=True)
        with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
            size = picture.size
    if size != (width, height):
        raise ValueError(f"{name} has {size[0]}x{size[1]} pixels: send {width}x{height}")
    pixels = np.asarray(read_image(Encoded(name, data)).convert(MODES[channels]))
    if pixels.shape[:2] != (height, width):
        raise ValueError(f"{name} is to be turned, as its EXIF data says: send it turned")
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)
