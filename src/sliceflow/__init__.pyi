from . import data, metrics, viz
from .codec import Codec, Columns, Label, Observed, Unconditional
from .core._reading import FileError
from .estimator import SlicedFlow
from .flow import (
    ArrayTarget,
    Blends,
    Exact,
    Fast,
    Flow,
    Gaussian,
    Noise,
    Spec,
    Stage,
    State,
    Target,
    schedules,
)
from .model import Model
from .models import load
from .runs._plan import Plan
from .runs._run import Run
from .table import SlicedTable
from .table_model import TableModel
from .tables._imputer import SlicedImputer, impute

__version__: str

__all__ = [
    "ArrayTarget",
    "Blends",
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
    "Run",
    "SlicedFlow",
    "SlicedImputer",
    "SlicedTable",
    "Spec",
    "Stage",
    "State",
    "TableModel",
    "Target",
    "Unconditional",
    "data",
    "impute",
    "load",
    "metrics",
    "schedules",
    "viz",
]
