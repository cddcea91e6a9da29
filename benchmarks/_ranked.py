"""A fit that `sliceflow.launch` starts on many processes; the first one tells how it went, as JSON.

python -m sliceflow.launch --nproc-per-node 2 -m benchmarks._ranked '{"data": "mnist"}'
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from benchmarks.forecasts import numbers
from sliceflow import Plan, SlicedFlow, Stage, State
from sliceflow.core._distributed import TorchDistributed
from sliceflow.data import load

SCHEDULES = {
    "mnist": [Stage(6, 7), Stage(6, 14, 7), Stage(8, 28, 7)],
    "table": [Stage(30)],
}


def rows(data: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y: digits, or a table of numbers that depend on each other."""
    if data == "mnist":
        images = load("mnist")
        assert images.labels is not None
        which = np.resize(np.arange(len(images)), n)
        return images.pixels[which], images.labels[which]
    x = numbers(n)
    return x, (x[:, 0] > 0).astype(int)


class Watch:
    """A callback that takes the time of steps, and counts bytes: merged, and by the network."""

    def __init__(self, plan: Plan) -> None:
        assert isinstance(plan.flow.group, TorchDistributed)
        self.group = plan.flow.group
        self.moments: list[tuple[float, int, int]] = []

    def __call__(self, state: State) -> None:
        """Note a step."""
        self.moments.append((perf_counter(), self.group.bytes_sent, through_network()))

    def told(self) -> dict[str, list[float]]:
        """Return seconds and bytes of each step but the first."""
        seconds, sent, wire = np.diff(np.array(self.moments), axis=0).T.tolist()
        return {"seconds": seconds, "sent": sent, "wire": wire}


def through_network() -> int:
    """Return the bytes that all network devices of this host have sent."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    return sum(int(line.partition(":")[2].split()[8]) for line in lines)


def digest(plan: Plan, state: State) -> str:
    """Return a sum of all particles, and of the model."""
    own = [hashlib.sha256(x.contiguous().numpy()).digest() for x in state.shards]
    everyones = plan.flow.group.gather([torch.tensor(list(sum)) for sum in own])
    total = hashlib.sha256(torch.stack(everyones).numpy())
    if (model := plan.model(state)) is not None:
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder, "model.zip"))
            total.update(Path(folder, "model.zip").read_bytes())
    return total.hexdigest()


def main(options: dict) -> None:
    """Fit, and tell."""
    data = options.get("data", "mnist")
    x, y = rows(data, options.get("rows", 10_000))
    plan = SlicedFlow(
        schedule=SCHEDULES[data],
        n_particles=options.get("particles", 10_000),
        batch_size=len(x),
        random_state=0,
    ).plan(x, y, distributed=True, shards=options.get("shards", 64))
    watch = Watch(plan)
    state = plan.run([watch], options.get("checkpoints"), options.get("minutes", 10))
    total = digest(plan, state)
    if plan.is_first:
        print(json.dumps({"digest": total} | watch.told()))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
