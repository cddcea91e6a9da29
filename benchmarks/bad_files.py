"""Files that are damaged or made up: none loads, and each ends in one error, soon."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks._mutations import spoil
from benchmarks.ledger import Figure
from sliceflow import FileError, SlicedFlow, load, save
from sliceflow._memory import forget_peak, peak_memory

TRIED = 10_000


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how many files were tried, how many loaded, and the most that one took."""
    tried, silent, seconds, memory = TRIED // shrink**2, 0, 0.0, 0.0
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        good, bad = Path(folder, "good.zip"), Path(folder, "bad.zip")
        save(small_model(), good)
        for _ in range(tried):
            spoil(rng, good, bad)
            forget_peak()
            before, started = peak_memory(), perf_counter()
            try:
                load(bad)
                silent += 1
            except FileError:
                seconds = max(seconds, perf_counter() - started)
                memory = max(memory, peak_memory() - before)
    yield Figure("bad_files.tried", tried, "", "files spoiled at random")
    yield Figure("bad_files.silent", silent, "", "of them loaded without an error")
    yield Figure("bad_files.seconds", seconds, "s", "the longest that one took")
    yield Figure("bad_files.memory", memory / 2**20, "MiB", "the most memory that one took")


def small_model():
    """Return a model of small images by class."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(200, 1, 12, 12), dtype=np.uint8)
    model = SlicedFlow(n_particles=100, schedule="quick", start="gaussian", random_state=0)
    return model.fit(images, np.arange(200) % 3).model_
