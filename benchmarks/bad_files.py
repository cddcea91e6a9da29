"""Files that are damaged or made up: each ends in one error, soon, or is a model that works."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks._mutations import MAY_LOAD, spoil
from benchmarks.ledger import Figure
from sliceflow import FileError, SlicedFlow, load
from sliceflow.core._memory import peak_memory, reset_peak

TRIED = 10_000


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how many files were tried, how many loaded, and the most that one took."""
    tried, silent, seconds, memory = TRIED // shrink**2, 0, 0.0, 0.0
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        good, bad = Path(folder, "good.zip"), Path(folder, "bad.zip")
        small_model().save(good)
        for _ in range(tried):
            way = spoil(rng, good, bad)
            reset_peak()
            before, started = peak_memory(), perf_counter()
            silent += is_silent(bad, way)
            seconds = max(seconds, perf_counter() - started)
            memory = max(memory, peak_memory() - before)
    yield Figure("bad_files.tried", tried, "", "files spoiled at random")
    yield Figure("bad_files.silent", silent, "", "of them gave no error, and are no model")
    yield Figure("bad_files.seconds", seconds, "s", "the longest that one took")
    yield Figure("bad_files.memory", memory / 2**20, "MiB", "the most memory that one took")


def is_silent(bad: Path, way: str) -> bool:
    """Return whether a spoiled file does harm unseen.

    It does if it loads, unless it is a model whose samples are finite or an error of its own.
    """
    try:
        model = load(bad)
        return way != MAY_LOAD or not np.isfinite(model.sample(5, y=0)).all()
    except (FileError, FloatingPointError):
        return False


def small_model():
    """Return a model of small images by class, of floats: bytes are always finite."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(200, 1, 12, 12)).astype(np.float32)
    model = SlicedFlow(n_particles=100, schedule="quick", start="gaussian", random_state=0)
    return model.fit(images, np.arange(200) % 3).model_
