"""Sample the model files that are named; print the sum of each one's samples, and what made them.

Run by `numpy_versions`, in environments of its own.
"""

import hashlib
import json
import platform
import sys
from importlib.metadata import version

import numpy as np

from sliceflow import load

LIBRARIES = ("numpy", "numba", "torch", "sliceflow")


def digest(path: str) -> str:
    """Return a sum of samples of a model, of all its classes."""
    model = load(path)
    y = None if model.codec.classes is None else np.resize(model.codec.classes, 300)
    return hashlib.sha256(model.sample(300, y, random_state=0).tobytes()).hexdigest()


versions = {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}
print(json.dumps({"versions": versions, "sums": [digest(path) for path in sys.argv[1:]]}))
