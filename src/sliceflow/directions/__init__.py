"""Directions as linear operators: `project` and its adjoint `lift`."""

from sliceflow.directions._joint import Joint
from sliceflow.directions._local import Local
from sliceflow.directions._operator import (
    BLOCK_DIRECTIONS,
    Block,
    Directions,
    Operator,
    Projection,
    slices,
)
from sliceflow.directions._sphere import Sphere
from sliceflow.directions._tiles import (
    AnyOf,
    Bands,
    Basis,
    Rotation,
    Tiles,
    spectral_axes,
    tile_sides,
)

__all__ = [
    "BLOCK_DIRECTIONS",
    "AnyOf",
    "Bands",
    "Basis",
    "Block",
    "Directions",
    "Joint",
    "Local",
    "Operator",
    "Projection",
    "Rotation",
    "Sphere",
    "Tiles",
    "slices",
    "spectral_axes",
    "tile_sides",
]
