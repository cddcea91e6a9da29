"""One-dimensional optimal transport maps, one for each direction."""

from sliceflow.transport.sorted import SortedMap

__all__ = ["SortedMap"]
