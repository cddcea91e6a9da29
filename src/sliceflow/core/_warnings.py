"""Warnings that name the line of the user, however deep in the package they arise."""

import contextlib
import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parents[1])


def warn_user(message: str) -> None:
    """Warn, and name the first line outside of this package (and of contextlib's decorators)."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith((PACKAGE, contextlib.__file__)):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
