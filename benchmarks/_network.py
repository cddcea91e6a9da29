"""How long processes take to merge values; the first one tells, as JSON.

python -m sliceflow.launch --nproc-per-node 2 -m benchmarks._network
"""

import json
from statistics import median

import torch
import torch.distributed as dist

from sliceflow.distributed import group
from sliceflow.speed import seconds

FEW, MANY = 2, 2**20
"""How many values, of 4 bytes."""


def merging(n: int) -> float:
    """Return the seconds of merging n values."""
    values = torch.zeros(n, dtype=torch.int32)
    return median(seconds(lambda: dist.all_reduce(values)) for _ in range(50))


if __name__ == "__main__":
    ranks = group()
    few, many = merging(FEW), merging(MANY)
    if ranks.rank == 0:
        print(json.dumps({"message": few, "byte": (many - few) / (4 * MANY)}))
