from . import data, metrics, schedules, viz
from ._reading import FileError
from .conditions import Columns, Label, Observed, Unconditional
from .course import State
from .engines import Exact, Fast
from .estimator import SlicedFlow
from .flow import Flow
from .io import load, save
from .model import FlowModel
from .plan import Plan
from .schedules import Stage
from .starts import Gaussian, Noise
from .targets import ArrayTarget, Target

__version__: str

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
    "Plan",
    "SlicedFlow",
    "Stage",
    "State",
    "Target",
    "Unconditional",
    "data",
    "load",
    "metrics",
    "save",
    "schedules",
    "viz",
]
