"""Many processes, as one: the same bits, whoever has which shards."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from ranks import KINDS, digest, fitted

SCRIPT = Path(__file__).with_name("ranks.py")


def run(processes, *arguments, threads=1):
    """Return what processes print that torchrun starts."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command = [sys.executable, *launcher, SCRIPT, *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    answer = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return answer.stdout.strip()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_matter(kind, threads):
    torch.set_num_threads(1)
    one = digest(*fitted(kind))
    torch.set_num_threads(threads)
    assert digest(*fitted(kind)) == one


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("processes", "threads", "entropy"), [(1, 2, 0), (2, 1, 0.01), (3, 2, 0)])
def test_processes_do_not_matter(kind, processes, threads, entropy):
    alone = digest(*fitted(kind, entropy=float(entropy)))
    assert run(processes, kind, entropy, threads=threads) == alone
