"""The examples run, and show what they claim: at the size they claim it, so they are slow."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from sliceflow.data import data_folder
from sliceflow.flow.schedules import pyramid

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *arguments):
    command = [sys.executable, EXAMPLES / name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def numbers(line):
    return [float(word) for word in re.findall(r"-?\d+\.?\d*", line)]


@pytest.mark.measures
def test_it_converges():
    """Within 1.5 of the distance between two fresh samples."""
    lines = run("convergence.py").splitlines()
    ratios = [numbers(line)[2] for line in lines[1:]]
    assert len(ratios) == 8
    assert max(ratios) <= 1.5


@pytest.mark.measures
def test_matched_conditions_bear_a_large_amplifier():
    rows = [numbers(line) for line in run("initial_conditions.py").splitlines()[1:]]
    matched, drawn = ({int(row[0]): row[i] for row in rows} for i in (1, 2))
    assert matched[10] < drawn[10] / 2


MNIST = data_folder() / "mnist"


@pytest.mark.slow
@pytest.mark.skipif(not list(MNIST.glob("train-images*")), reason=f"MNIST is not in {MNIST}")
def test_digits(tmp_path):
    out = tmp_path / "digits.png"
    assert "some of 1000 digits" in run("mnist.py", "--out", out, "--n-particles", "1000")
    assert out.stat().st_size > 5_000


@pytest.mark.slow
@pytest.mark.skipif(not list(MNIST.glob("train-images*")), reason=f"MNIST is not in {MNIST}")
def test_film(tmp_path):
    moments = 1 + len(pyramid((1, 28, 28), "quick"))
    told = run("film.py", "--out-dir", tmp_path, "--n-particles", "500")
    assert f"{moments} moments" in told
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames > 10  # frames that are alike are one
    assert (tmp_path / "evolution.png").stat().st_size > 5_000


def test_digits_say_what_is_missing(tmp_path):
    command = [sys.executable, EXAMPLES / "mnist.py", "--data-dir", tmp_path]
    nowhere = os.environ | {"https_proxy": "http://127.0.0.1:9"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=nowhere)
    assert result.returncode == 1
    assert "put it there, or pass another data folder" in result.stderr
    assert "Traceback" not in result.stderr
