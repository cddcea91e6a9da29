"""Nonparametric generative modelling with sliced-Wasserstein flows."""

from sliceflow.archive import FileError
from sliceflow.conditions import Columns, Label, Observed, Unconditional
from sliceflow.course import State
from sliceflow.engines import Exact, Fast
from sliceflow.estimator import SlicedFlow
from sliceflow.flow import Flow
from sliceflow.io import load, save
from sliceflow.model import FlowModel
from sliceflow.schedules import Stage
from sliceflow.starts import Gaussian, Noise
from sliceflow.targets import ArrayTarget, Target

__version__ = "0.1.0"

__all__ = [
    "ArrayTarget",
    "Columns",
    "Exact",
    "Fast",
    "FileError",
    "Flow",
    "FlowModel",
    "Gaussian",
    "Label",
    "Noise",
    "Observed",
    "SlicedFlow",
    "Stage",
    "State",
    "Target",
    "Unconditional",
    "load",
    "save",
]
