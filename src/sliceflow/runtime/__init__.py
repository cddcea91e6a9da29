"""Samples from model files with NumPy alone: no PyTorch, no Numba, and a start in under a second.

    from sliceflow import runtime
    x = runtime.load("model.sliceflow").sample(100, y=7)

It draws the samples that `sliceflow.load` draws for the same seed, up to rounding.
"""

from sliceflow.runtime._model import RuntimeModel, load

__all__ = ["RuntimeModel", "load"]
