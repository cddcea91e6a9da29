"""Nonparametric generative modelling with sliced-Wasserstein flows."""

from sliceflow.conditions import Columns, Label, Observed, Unconditional
from sliceflow.estimator import SlicedFlow
from sliceflow.flow import Flow, State
from sliceflow.schedules import Stage
from sliceflow.targets import ArrayTarget, Target

__version__ = "0.1.0"

__all__ = [
    "ArrayTarget",
    "Columns",
    "Flow",
    "Label",
    "Observed",
    "SlicedFlow",
    "Stage",
    "State",
    "Target",
    "Unconditional",
]
