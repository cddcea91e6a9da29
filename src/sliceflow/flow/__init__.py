"""The flow: what determines it, where it starts, how a step is done, and the loop."""

from sliceflow.flow import schedules
from sliceflow.flow._engines import Engine, Exact, Fast
from sliceflow.flow._flow import BaseFlow, Flow
from sliceflow.flow._progress import Progress
from sliceflow.flow._spec import Spec
from sliceflow.flow._starts import Blends, Gaussian, Noise
from sliceflow.flow._state import Callback, Record, State
from sliceflow.flow._targets import ArrayTarget, Target
from sliceflow.flow.schedules import Stage

__all__ = [
    "ArrayTarget",
    "BaseFlow",
    "Blends",
    "Callback",
    "Engine",
    "Exact",
    "Fast",
    "Flow",
    "Gaussian",
    "Noise",
    "Progress",
    "Record",
    "Spec",
    "Stage",
    "State",
    "Target",
    "schedules",
]
