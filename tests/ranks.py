"""A fit that torchrun starts on many processes; the first prints the sum of all bits."""

import hashlib
import sys

import numpy as np

from sliceflow import SlicedFlow, Stage
from sliceflow.distributed import Ranks

KINDS = {
    "table": lambda rng: (rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)), 60),
    "images": lambda rng: (
        rng.integers(256, size=(300, 1, 8, 8)).astype(np.uint8),
        [Stage(3, 4), Stage(3, 6, 4), Stage(3, 8, 3, shared=True)],
    ),
}


def fitted(kind, checkpoints=None, **settings):
    """Return a plan and its last state; checkpoints are saved after each step."""
    rng = np.random.default_rng(0)
    x, schedule = KINDS[kind](rng)
    y = rng.integers(3, size=len(x))
    settings = {"n_particles": 500, "random_state": 0, "shards": 24} | settings
    plan = SlicedFlow(schedule=schedule, **settings).plan(x, y)
    return plan, plan.run((), checkpoints, minutes=0)


def digest(plan, state):
    """Return a sum of the particles of all processes, and of the maps."""
    total = hashlib.sha256()
    for swarm in plan.flow.group.gather(state.swarms[:-1]):
        total.update(swarm.contiguous().numpy().tobytes())
    for maps in state.record.maps if state.record else []:
        total.update(maps.knots.numpy().tobytes())
    return total.hexdigest()


if __name__ == "__main__":
    kind, entropy, *checkpoints = sys.argv[1:]
    plan, state = fitted(kind, *checkpoints, entropy=float(entropy))
    assert isinstance(plan.flow.group, Ranks)
    text = digest(plan, state)
    if plan.flow.group.rank == 0:
        print(text)
