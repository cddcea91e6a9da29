"""Print the peak memory in MiB of ten fast steps on m particles and n rows: `_peak.py m n`."""

import re
import sys
from pathlib import Path

import torch

from sliceflow import ArrayTarget, Flow, Stage, Unconditional

m, n = map(int, sys.argv[1:])
torch.set_num_threads(2)
target = ArrayTarget(torch.empty(3072, n).normal_())
flow = Flow(target, Unconditional(), (3, 32, 32), (Stage(10, 32, 5),))
state = flow.start(2)
state.particles = torch.empty(3072, m).normal_()
flow.run(state)
print(int(re.findall(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[0]) / 2**10)
