"""Directions as linear operators: `project` and its adjoint `lift`."""

from sliceflow.projections.local import Local
from sliceflow.projections.operator import BLOCK, Block, Directions, Operator, Projection, slices
from sliceflow.projections.sphere import Sphere
from sliceflow.projections.tiles import (
    AnyOf,
    Bands,
    Basis,
    Rotation,
    Tiles,
    spectral_axes,
    tile_sides,
)

__all__ = [
    "BLOCK",
    "AnyOf",
    "Bands",
    "Basis",
    "Block",
    "Directions",
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
