"""Compiled kernels are kept for other processes, and where they cannot be, all works without."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "sliceflow"

CODE = """
import numpy
from sliceflow.transport import _kernels as kernels
z = numpy.array([1, 3, 2], numpy.float32)
print(kernels.__file__, *kernels.extremes(z), sum(kernels.extremes.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package, with nothing compiled."""
    shutil.copytree(SOURCE, tmp_path / "sliceflow", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def compiled(package, **settings):
    """Use a kernel in another process: return its results, and how often it was compiled before."""
    unset = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    here = {name: value for name, value in os.environ.items() if name not in unset}
    own = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", **settings}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=here | own,
        capture_output=True,
        text=True,
        check=True,
    )
    path, *found, hits = done.stdout.split()
    assert Path(path).is_relative_to(package)
    assert [float(value) for value in found] == [1, 3]
    return int(hits)


def test_kernels_are_compiled_once(package):
    assert [compiled(package) for _ in range(2)] == [0, 1]


def test_without_a_place_for_them_they_are_compiled_each_time(package):
    """A file in the place of a folder keeps even root from writing there."""
    (package / "sliceflow" / "transport" / "__pycache__").touch()
    assert [compiled(package, HOME="/dev/null/home") for _ in range(2)] == [0, 0]
