"""One-dimensional optimal transport maps, one for each direction."""

from sliceflow.transport.histogram import CELLS, LARGEST, HistogramMap
from sliceflow.transport.sorted import SortedMap

__all__ = ["CELLS", "LARGEST", "HistogramMap", "SortedMap"]
