"""Nonparametric generative modelling with sliced-Wasserstein flows."""

import lazy_loader

__version__ = "0.1.0"

# Names are imported when they are first used: importing PyTorch is slow, and `sliceflow --help`
# does not need it. The names are in `__init__.pyi`.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
