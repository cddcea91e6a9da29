"""Many processes, as one: the same bits, whoever has which shards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from ranks import KINDS, digest, fitted

SCRIPT = Path(__file__).with_name("ranks.py")


def started(processes, *arguments, threads=1):
    """Start processes, as torchrun does."""
    launcher = ["-m", "sliceflow.launch", "--standalone", f"--nproc-per-node={processes}"]
    command = [sys.executable, *launcher, SCRIPT, *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def run(*arguments, **settings):
    """Return what processes print."""
    process = started(*arguments, **settings)
    answer, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return answer.strip()


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


@pytest.mark.slow
def test_another_number_of_processes_goes_on(tmp_path):
    whole = digest(*fitted("images"))
    assert run(3, "images", 0, tmp_path) == whole
    last = max(path.name[:20] for path in tmp_path.iterdir())
    for path in tmp_path.glob(f"{last}*"):
        path.unlink()  # go on from the one before it
    assert run(2, "images", 0, tmp_path) == whole
    plan, state = fitted("images", tmp_path)
    assert digest(plan, state) == whole


def workers_of(process, folder):
    """Return the processes that torchrun started, once they have done two steps."""
    while not any(path.name >= "checkpoint-000000002.zip" for path in folder.glob("*.zip")):
        assert process.poll() is None
        time.sleep(0.01)
    told = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True)
    return [int(number) for number in told.stdout.split()]


@pytest.mark.slow
def test_a_killed_process_is_started_again(tmp_path):
    process = started(3, "table", 0, tmp_path)
    os.kill(workers_of(process, tmp_path)[1], signal.SIGKILL)
    answer, _ = process.communicate(timeout=300)
    assert answer.strip() == digest(*fitted("table"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of their parent")
def test_processes_end_with_their_launcher(tmp_path):
    process = started(2, "table", 0, tmp_path)
    assert len(workers_of(process, tmp_path)) == 2
    process.kill()
    answer, _ = process.communicate(timeout=60)  # which they have open too, and leave empty
    assert not answer
