"""A fit that torchrun starts on many processes; the first prints the sum of all bits."""

import hashlib
import sys

import numpy as np

from sliceflow import SlicedFlow, Stage
from sliceflow.core._distributed import TorchDistributed

KINDS = {
    "table": lambda rng: (rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)), 60),
    "images": lambda rng: (
        rng.integers(256, size=(300, 1, 8, 8)).astype(np.uint8),
        [Stage(3, 4), Stage(3, 6, 4), Stage(3, 8, 3, shared=True)],
    ),
}


def fitted(kind, checkpoints=None, distributed=False):
    """Return a plan and its last state; checkpoints are saved after each step."""
    rng = np.random.default_rng(0)
    x, schedule = KINDS[kind](rng)
    y = rng.integers(3, size=len(x))
    estimator = SlicedFlow(schedule=schedule, n_particles=500, random_state=0)
    plan = estimator.plan(x, y, distributed=distributed, shards=24)
    return plan, plan.run((), checkpoints, checkpoint_minutes=0)


def digest(plan, state):
    """Return a sum of the particles of all processes, and of the maps."""
    total = hashlib.sha256()
    for shard in plan.flow.group.gather(state.shards):
        total.update(shard.contiguous().numpy().tobytes())
    for maps in state.record.maps if state.record else []:
        total.update(maps.knots.numpy().tobytes())
    return total.hexdigest()


if __name__ == "__main__":
    plan, state = fitted(*sys.argv[1:], distributed=True)
    assert isinstance(plan.flow.group, TorchDistributed)
    text = digest(plan, state)
    if plan.flow.group.rank == 0:
        print(text)
