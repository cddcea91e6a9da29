"""Checkpoints: a fit that was stopped goes on, and ends with the same bits."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from test_model import CONDITIONS, STAGES, fitted

from sliceflow import SlicedFlow, Stage
from sliceflow.flow import BaseFlow

STEPS = sum(stage.steps for stage in STAGES)


def stopped_after(monkeypatch, steps, folder, condition="none"):
    """Stop a fit after this many steps, each of which leaves a checkpoint."""
    step, done = BaseFlow.step, []

    def counted(self, stage, state):
        if len(done) == steps:
            raise KeyboardInterrupt
        done.append(state)
        step(self, stage, state)

    with monkeypatch.context() as patch:
        patch.setattr(BaseFlow, "step", counted)
        with pytest.raises(KeyboardInterrupt):
            fitted(condition, {"checkpoints": folder, "checkpoint_minutes": 0})


def model_bytes(model, folder):
    model.model_.save(folder / "model.zip")
    return (folder / "model.zip").read_bytes()


@pytest.mark.parametrize("steps", range(STEPS))
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_stopped_fit_goes_on_with_the_same_bits(condition, steps, tmp_path, monkeypatch):
    folder = tmp_path / "here"
    stopped_after(monkeypatch, steps, folder, condition)
    again, whole = fitted(condition, {"checkpoints": folder}), fitted(condition)
    assert np.array_equal(again.particles_, whole.particles_)
    assert model_bytes(again, tmp_path) == model_bytes(whole, tmp_path)


@pytest.mark.parametrize("shape", [(1,), (1, 4, 4)])
def test_a_single_coordinate(shape, tmp_path):
    """A table of one column, and an image of one pixel: the level where pyramids begin."""
    x = np.random.default_rng(0).normal(size=(50, *shape))
    settings = {"schedule": [Stage(4, 1 if len(shape) > 1 else None)], "random_state": 0}
    run = {"checkpoints": tmp_path, "checkpoint_minutes": 0}
    whole = SlicedFlow(**settings).fit(x, **run)
    last = max(tmp_path.iterdir())
    last.unlink()
    again = SlicedFlow(**settings).fit(x, **run)
    assert np.array_equal(again.particles_, whole.particles_)


def test_what_cannot_be_used_makes_room(tmp_path, monkeypatch):
    """Two that are damaged, and what a killed process left behind."""
    stopped_after(monkeypatch, 5, tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b"")
    (tmp_path / "checkpoint-000000006.zip.part").write_bytes(b"")
    with pytest.warns(UserWarning, match="cannot be used"):
        stopped_after(monkeypatch, 3, tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["checkpoint-000000002.zip", "checkpoint-000000003.zip"]


def test_no_checkpoints_without_a_seed(tmp_path):
    with pytest.raises(ValueError, match="random_state=0"):
        fitted(run={"checkpoints": tmp_path}, random_state=None)


def test_the_last_two_are_kept(tmp_path, monkeypatch):
    stopped_after(monkeypatch, 5, tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["checkpoint-000000004.zip", "checkpoint-000000005.zip"]


def test_if_the_last_one_is_damaged_the_one_before_it_is_used(tmp_path, monkeypatch):
    stopped_after(monkeypatch, 5, tmp_path)
    last = max(tmp_path.iterdir())
    last.write_bytes(last.read_bytes()[:-1])
    with pytest.warns(UserWarning, match=f"{last.name} cannot be used"):
        again = fitted(run={"checkpoints": tmp_path})
    assert np.array_equal(again.particles_, fitted().particles_)


@pytest.mark.parametrize("other", [{"random_state": 2}, {"n_particles": 199}, {"knots": 32}])
def test_checkpoints_of_another_fit_are_not_used(other, tmp_path, monkeypatch):
    stopped_after(monkeypatch, 5, tmp_path)
    with pytest.raises(ValueError, match="another folder"):
        fitted(run={"checkpoints": tmp_path}, **other)


def fit_elsewhere(folder, steps, before=""):
    """Return the command of a fit in a process of its own, with a checkpoint after each step."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from test_model import fitted
from sliceflow import Stage
{before}
run = {{"checkpoints": {str(folder)!r}, "checkpoint_minutes": 0}}
fitted(run=run, schedule=[Stage({steps}, 6, 3)])
"""
    return [sys.executable, "-c", code]


def test_a_full_disk_does_not_end_the_fit(tmp_path):
    """A limit on the size of files stands for the disk."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2**15, 2**15))"
    command = fit_elsewhere(tmp_path, 3, before=limit)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "no checkpoint could be written" in done.stderr
    assert list(tmp_path.iterdir()) == []


def wait_for_checkpoints(folder, process):
    while process.poll() is None and len(list(folder.glob("*.zip"))) < 2:
        time.sleep(0.01)


def test_sigterm_saves_and_ends(tmp_path):
    process = subprocess.Popen(fit_elsewhere(tmp_path, 10_000))
    wait_for_checkpoints(tmp_path, process)
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM
    assert len(list(tmp_path.iterdir())) == 2
