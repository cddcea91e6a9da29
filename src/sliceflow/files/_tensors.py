"""Tensors in the parts of an archive, which holds arrays."""

import torch
from torch import Tensor

from sliceflow.files._archive import Archive, Sizes, as_safetensors


def as_tensors(**tensors: Tensor) -> bytes:
    """Return tensors as safetensors."""
    return as_safetensors(**{name: tensor.cpu().numpy() for name, tensor in tensors.items()})


def tensors_of(archive: Archive, name: str, sizes: Sizes) -> dict[str, Tensor]:
    """Return the tensors of a part, if they are as expected, and finite."""
    arrays = archive.arrays(name, sizes)
    return {key: torch.from_numpy(array) for key, array in arrays.items()}
