"""One-dimensional optimal transport maps, one for each direction."""

from sliceflow.transport.histogram import CELLS, MOST_CELLS, HistogramMap
from sliceflow.transport.sorted import SortedMap
from sliceflow.transport.tails import with_calm_tails

__all__ = ["CELLS", "MOST_CELLS", "HistogramMap", "SortedMap", "with_calm_tails"]
