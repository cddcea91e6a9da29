"""One-dimensional optimal transport maps, one for each direction."""

from sliceflow.transport._histogram import (
    CELLS,
    MAX_CELLS,
    HistogramMap,
    HistogramTransport,
    Values,
)
from sliceflow.transport._knots import KNOTS, KnotMap, PackedMap
from sliceflow.transport._sorted import SortedMap, SortedTransport

__all__ = [
    "CELLS",
    "KNOTS",
    "MAX_CELLS",
    "HistogramMap",
    "HistogramTransport",
    "KnotMap",
    "PackedMap",
    "SortedMap",
    "SortedTransport",
    "Values",
]
