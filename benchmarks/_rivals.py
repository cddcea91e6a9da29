"""Our flow and other methods, all with their default settings.

The others are in an environment of their own: some need older versions of our dependencies.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from sliceflow import SlicedFlow
from sliceflow.data import data_folder

PACKAGES = ("numpy<2", "torch==2.13.0", "sbi==0.27.0", "treeffuser==0.2.0", "ngboost==0.5.4")
"""treeffuser needs NumPy 1 and brings LightGBM."""

SCRIPT = Path(__file__).with_name("_rival.py")


@dataclass(frozen=True, eq=False)
class Drawn:
    """Samples, (k, m, d), of k conditions, and the seconds of the fit and of the sampling."""

    samples: np.ndarray
    fit_seconds: float
    sample_seconds: float


def drawn_by(method: str, x: np.ndarray, y: np.ndarray, given: np.ndarray, m: int) -> Drawn:
    """Fit a method to rows x, (n, d), given y, (n, l), and draw m samples for each of k given y."""
    if method == "sliceflow":
        return _ours(x, y, given, m)
    with tempfile.TemporaryDirectory() as folder:
        task, result = Path(folder) / "task.npz", Path(folder) / "result.npz"
        np.savez(task, x=x, y=y, given=given, m=m)
        # -P: `profile.py` beside the script must not hide Python's own
        command = [environment("rivals", PACKAGES), "-P", SCRIPT, method, task, result]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)  # for their logs
        with np.load(result) as found:
            return Drawn(found["samples"], float(found["fit"]), float(found["sample"]))


def _ours(x: np.ndarray, y: np.ndarray, given: np.ndarray, m: int) -> Drawn:
    started = perf_counter()
    model = SlicedFlow(random_state=0).fit(x, y)
    fitted = perf_counter()
    samples = sample_each(model, given, m)
    return Drawn(samples, fitted - started, perf_counter() - fitted)


def sample_each(model: SlicedFlow, given: np.ndarray, m: int) -> np.ndarray:
    """Return m samples for each of k given y: (k, m, d)."""
    repeated = np.repeat(given, m, axis=0)
    samples: np.ndarray = model.sample(len(repeated), y=repeated, random_state=0)
    return samples.reshape(len(given), m, -1)


def environment(name: str, packages: Sequence[str]) -> Path:
    """Return the Python of an environment for rivals, which is made once."""
    folder = data_folder() / name
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        (folder / "complete").touch()
    return python
