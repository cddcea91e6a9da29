"""Many processes, as one: the same bits, whoever has which shards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from own_data import make_table
from ranks import KINDS, digest, fitted

SCRIPT = Path(__file__).parents[1] / "ranks.py"


def launched(processes, *command, threads=1, **options):
    """Start processes, as torchrun does."""
    launcher = [sys.executable, "-m", "sliceflow.launch", f"--nproc-per-node={processes}"]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    options = {"env": environment, "stdout": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([*launcher, *map(str, command)], **options)


def started(processes, *arguments, threads=1):
    """Start the processes of a fit."""
    return launched(processes, SCRIPT, *arguments, threads=threads)


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
@pytest.mark.parametrize(("processes", "threads"), [(1, 2), (2, 1), (3, 2)])
def test_processes_do_not_matter(kind, processes, threads):
    assert run(processes, kind, threads=threads) == digest(*fitted(kind))


@pytest.mark.slow
def test_another_number_of_processes_goes_on(tmp_path):
    whole = digest(*fitted("images"))
    assert run(3, "images", tmp_path) == whole
    last = max(path.name[:20] for path in tmp_path.iterdir())
    for path in tmp_path.glob(f"{last}*"):
        path.unlink()  # go on from the one before it
    assert run(2, "images", tmp_path) == whole
    plan, state = fitted("images", tmp_path)
    assert digest(plan, state) == whole


SEEDS = """
import sys
import numpy as np
import torch
from sliceflow import SlicedFlow
x = np.random.default_rng(0).normal(size=(200, 2))
with torch.inference_mode():
    flow = SlicedFlow(schedule=2).fit(x, distributed=True)
told = [flow.seed_]
if flow.model_ is None:
    try:
        flow.sample(1)
    except ValueError as error:
        told.append(str(error)[:44])
# In one piece, since two processes write to one pipe.
sys.stdout.write("".join(f"{line}\\n" for line in told))
"""


@pytest.mark.slow
def test_processes_agree_on_a_seed(tmp_path):
    (tmp_path / "script.py").write_text(SEEDS)
    process = launched(2, tmp_path / "script.py")
    answer, _ = process.communicate(timeout=300)
    first, second, hint = sorted(answer.splitlines())
    assert first == second
    assert hint == "only the first process has the model: use it"


def workers_of(process, folder):
    """Return the processes that torchrun started, once they have done two steps."""
    while not any(path.name >= "checkpoint-000000002.zip" for path in folder.glob("*.zip")):
        assert process.poll() is None
        time.sleep(0.01)
    told = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True)
    return [int(number) for number in told.stdout.split()]


@pytest.mark.slow
def test_a_killed_process_is_started_again(tmp_path):
    process = started(3, "table", tmp_path)
    os.kill(workers_of(process, tmp_path)[1], signal.SIGKILL)
    answer, _ = process.communicate(timeout=300)
    assert answer.strip() == digest(*fitted("table"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of their parent")
def test_processes_end_with_their_launcher(tmp_path):
    process = started(2, "table", tmp_path)
    assert len(workers_of(process, tmp_path)) == 2
    process.kill()
    answer, _ = process.communicate(timeout=60)  # which they have open too, and leave empty
    assert not answer


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3000, 40])
def test_the_command_line_on_many_processes(tmp_path, rows):
    """The first of three has fewer than 1,000 particles; 40 rows are fewer than 64 shards."""
    make_table(tmp_path / "table.csv", ("u", "v", "kind"), "ab", rows)
    models = set()
    for processes in (1, 3):
        fit = ("fit", "table.csv", "--y", "kind", "--schedule", "quick", "--random-state", "0")
        options = ("--distributed", "--out", processes)
        launch = launched(processes, "-m", "sliceflow", *fit, *options, cwd=tmp_path)
        launch.communicate(timeout=300)
        assert launch.returncode == 0
        models.add((tmp_path / str(processes) / "model.zip").read_bytes())
    assert len(models) == 1


def errors_of(*arguments, **options):
    """Return the exit code of three processes, and what they and the launcher print as errors."""
    process = launched(3, *arguments, stderr=subprocess.PIPE, **options)
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


@pytest.mark.slow
def test_an_error_of_the_command_line_is_printed_once(tmp_path):
    code, errors = errors_of(
        "-m", "sliceflow", "fit", "none.csv", "--y", "u", "--distributed", cwd=tmp_path
    )
    assert code == 1
    *again, line = errors.splitlines()
    assert line == "sliceflow fit: none.csv: No such file or directory: check the path"
    assert again == ["sliceflow.launch: a process failed: restarting all processes"] * 2


@pytest.mark.slow
def test_a_wrong_use_ends_a_launch_at_once():
    code, errors = errors_of("-m", "sliceflow", "fit", "table.csv", "--nonsense", "1")
    assert code == 2
    assert len(errors.splitlines()) == 1
    assert "unknown option --nonsense" in errors


FAILING = """
from sliceflow.core._distributed import distributed_group
everyone = distributed_group(None)
if everyone.rank == 1:
    raise ValueError("of the second process")
everyone.all_max(0)
"""


@pytest.mark.slow
def test_an_error_of_one_process_is_printed_once(tmp_path):
    """The others lose their connection to it, and say nothing about that."""
    (tmp_path / "script.py").write_text(FAILING)
    code, errors = errors_of("script.py", cwd=tmp_path)
    assert code == 1
    assert errors.endswith("ValueError: of the second process\n")
    assert errors.count("Traceback") == errors.count("ValueError: of") == 1
    assert "gloo" not in errors


KILLED_ONCE = """
import os, signal, sys
from pathlib import Path
from sliceflow.core._distributed import distributed_group
everyone = distributed_group(None)
everyone.all_max(0)
if everyone.rank == 1 and not Path("killed").exists():
    Path("killed").touch()
    os.kill(os.getpid(), signal.SIGKILL)
everyone.all_max(0)
if everyone.rank == 0:
    Path("arguments").write_text(" ".join(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_script_whose_process_is_killed_once_works(tmp_path):
    (tmp_path / "script.py").write_text(KILLED_ONCE)
    code, errors = errors_of("script.py", "a", "--b", cwd=tmp_path)
    assert code == 0
    assert "Traceback" not in errors
    assert (tmp_path / "arguments").read_text() == "a --b"
