"""One-dimensional optimal transport maps, one for each direction."""

from sliceflow.transport._histogram import CELLS, MAX_CELLS, HistogramMap, Values
from sliceflow.transport._knots import KNOTS, KnotMap, PackedMap
from sliceflow.transport._sorted import SortedMap

__all__ = [
    "CELLS",
    "KNOTS",
    "MAX_CELLS",
    "HistogramMap",
    "KnotMap",
    "PackedMap",
    "SortedMap",
    "Values",
]
