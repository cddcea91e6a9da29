"""A command that is interrupted, or whose output nobody reads, ends without a traceback."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from sliceflow import SlicedFlow

CODE = """
from sliceflow.__main__ import end_when_interrupted, main
end_when_interrupted()
print(flush=True)  # the first moment at which there is something of ours to be interrupted
main()
"""
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def start(*arguments, **settings):
    """Start a command, and return it at its first moment."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=BUFFERED,
        **settings,
    )
    assert process.stdout.readline() == "\n"
    return process


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("interrupts") / "table.csv"
    rows = np.random.default_rng(0).normal(size=(300, 2))
    path.write_text("u,v\n" + "\n".join(f"{u},{v}" for u, v in rows))
    return path


@pytest.fixture(scope="module")
def model(table):
    rows = np.random.default_rng(0).normal(size=(300, 2))
    path = table.with_name("model.zip")
    SlicedFlow(schedule=200, random_state=0).fit(rows).model_.save(path)
    return path


def check_end(process, after):
    """Interrupt after some seconds, and again soon after; return whether that ended it."""
    time.sleep(after)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    _, told = process.communicate(timeout=60)
    assert "Traceback" not in told
    assert "Exception ignored" not in told
    assert process.returncode in (0, 130, -signal.SIGINT), told
    shown = told.count(" %") + told.count("predicting")
    assert process.returncode == 0 or told.count("\n") <= 1 + shown
    return process.returncode != 0


def test_during_imports_it_ends_at_once(table):
    assert check_end(start("fit", table, "--out", table.with_name("run")), 0)
    assert not table.with_name("run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["sample", "fit", "info", "help"])
def test_at_any_moment(command, table, model, tmp_path):
    """From the first moment on, until a command has ended before it is interrupted."""
    moment, is_interrupted = 0.0, True
    while is_interrupted:
        arguments = {
            "sample": ("sample", model, "--n", "20000", "--out", tmp_path / "samples.csv"),
            "fit": ("fit", table, "--y", "v", "--effort", "0.1", "--out", tmp_path / f"{moment}"),
            "info": ("info", model),
            "help": ("--help",),
        }[command]
        is_interrupted = check_end(start(*arguments), moment)
        assert not list(tmp_path.rglob("*.part"))
        moment += 0.2 + moment / 4


def test_an_interrupt_that_is_ignored_stays_ignored(model):
    """As in the background of a script, or with nohup."""
    process = start("info", model, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize("arguments", [("--help",), ("fit", "--help"), ("info",)])
def test_nobody_has_to_read_all(arguments, model):
    process = start(*arguments, *([model] if arguments == ("info",) else []))
    process.stdout.close()
    with process.stderr as file:
        assert file.read() == ""
    assert process.wait() == 128 + signal.SIGPIPE


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a file that is full")
def test_what_cannot_be_printed_is_an_error(model):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sliceflow", "info", str(model)],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode != 0
    assert done.stderr == (
        "sliceflow info: No space left on device: free some space, or write elsewhere\n"
    )
