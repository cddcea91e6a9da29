"""Converts users' arrays to particles and back: dtypes, units, labels and conditions."""

from sliceflow.codec._codec import Codec, Output
from sliceflow.codec._conditions import (
    Columns,
    Condition,
    Label,
    Observed,
    Summary,
    Unconditional,
)

__all__ = [
    "Codec",
    "Columns",
    "Condition",
    "Label",
    "Observed",
    "Output",
    "Summary",
    "Unconditional",
]
