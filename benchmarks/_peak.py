"""Print the peak memory in MiB of ten fast steps, given the numbers of particles and rows."""

import sys

import torch

from sliceflow import ArrayTarget, Flow, Spec, Stage
from sliceflow.core._memory import peak_memory

m, n = map(int, sys.argv[1:])
torch.set_num_threads(2)
target = ArrayTarget(torch.empty(3072, n).normal_())
flow = Flow(Spec((3, 32, 32), (Stage(10, 32, 5),)), [target])
state = flow.start(2)
state.shards[0] = torch.empty(3072, m).normal_()
flow.run(state)
print(peak_memory() / 2**20)
