"""How long processes take to merge values; the first one tells, as JSON.

python -m sliceflow.launch --nproc-per-node 2 -m benchmarks._network
"""

import json
from statistics import median

import torch
import torch.distributed as dist

from sliceflow.core._distributed import distributed_group
from sliceflow.reproduce._speed import seconds

MANY = 2**20
"""How many values, of 4 bytes, are a long message."""
ROUNDS = 50


def long_message() -> float:
    """Return the seconds of merging many values, by processes that do nothing else."""
    values = torch.zeros(MANY, dtype=torch.int32)
    return median(seconds(lambda: dist.all_reduce(values)) for _ in range(ROUNDS))


def short_message() -> float:
    """Return the seconds that a message adds to work: processes then wait for one another."""
    value, matrix = torch.zeros(1, dtype=torch.int32), torch.ones(300, 300)

    def work() -> None:
        for _ in range(5):  # some milliseconds
            torch.mm(matrix, matrix)

    def work_and_tell() -> None:
        work()
        dist.all_reduce(value)

    return median(seconds(work_and_tell) - seconds(work) for _ in range(ROUNDS))


if __name__ == "__main__":
    ranks = distributed_group(None)
    short, long = short_message(), long_message()
    if ranks.rank == 0:
        print(json.dumps({"message": short, "byte": long / (4 * MANY)}))
