from . import data, metrics, schedules, viz
from ._reading import FileError
from .codec import Codec
from .conditions import Columns, Label, Observed, Unconditional
from .engines import Exact, Fast
from .estimator import SlicedFlow
from .flow import Flow
from .loop import State
from .model import Model, load
from .plan import Plan
from .schedules import Stage
from .spec import Spec
from .starts import Gaussian, Noise
from .targets import ArrayTarget, Target

__version__: str

__all__ = [
    "ArrayTarget",
    "Codec",
    "Columns",
    "Exact",
    "Fast",
    "FileError",
    "Flow",
    "Gaussian",
    "Label",
    "Model",
    "Noise",
    "Observed",
    "Plan",
    "SlicedFlow",
    "Spec",
    "Stage",
    "State",
    "Target",
    "Unconditional",
    "data",
    "load",
    "metrics",
    "schedules",
    "viz",
]
