"""A short fit to real digits by class, with a checkpoint after every step; it may be killed.

python -m benchmarks._fit folder/of/checkpoints model.zip
"""

import sys

from sliceflow import SlicedFlow, Stage
from sliceflow.data import load

SCHEDULE = [Stage(20, 4), Stage(20, 7, band=(1, None)), Stage(20, 14, 5), Stage(10, 28, 5)]
SETTINGS = {"n_particles": 1000, "schedule": SCHEDULE, "random_state": 0}

if __name__ == "__main__":
    folder, out = sys.argv[1:]
    digits = load("mnist")[:2000]
    run = {"checkpoints": folder, "checkpoint_minutes": 0}
    SlicedFlow(**SETTINGS).fit(digits.pixels, digits.labels, **run).save(out)
