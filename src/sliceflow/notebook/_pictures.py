"""Pictures as HTML, which loads no other file."""

import base64
import io
from typing import Any

import numpy as np
import torch
from markupsafe import Markup
from PIL import Image

from sliceflow.codec._scaling import to_bytes
from sliceflow.viz import draw, grid

MAX_CHANNELS = 4
"""Maximum number of channels of an image that can be shown."""


def can_be_shown(shape: tuple[int, ...]) -> bool:
    """Return whether x of this shape is an image with colours that can be shown."""
    return len(shape) == 3 and shape[0] <= MAX_CHANNELS


def pixels_of(images: Any) -> np.ndarray:
    """Return images (n, C, h, w) of bytes, or of brightness from −1 to 1, as bytes."""
    values = torch.as_tensor(images).cpu()
    if not can_be_shown(tuple(values.shape[1:])):
        raise ValueError(f"images of {values.shape[1]} channels cannot be shown: use sample")
    return (values if values.dtype == torch.uint8 else to_bytes(values)).numpy()


def picture_of(images: Any, columns: int = 10) -> bytes:
    """Return images as one picture, a PNG file."""
    return as_png(draw(grid(pixels_of(images), columns), 2))


def as_png(picture: Image.Image) -> bytes:
    """Return a picture as the bytes of a PNG file."""
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def embedded(data: bytes, about: str, kind: str = "png") -> Markup:
    """Return the bytes of a picture as HTML that contains them."""
    address = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return Markup('<img src="{}" alt="{}" title="{}">').format(address, about, about)
