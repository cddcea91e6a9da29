"""Sampling without PyTorch: the same samples, up to rounding."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_same_bits import FITS

from sliceflow import FileError, SlicedFlow, Stage, load, runtime
from sliceflow.flow._starts import BlendSampler

MODELS = Path(__file__).parents[1] / "models"


def given(model, fitted):
    """Return what to give for 300 samples: more than a batch."""
    if fitted.observed is not None:
        return np.resize(fitted.particles_, (300, *model.shape))
    y = fitted.conditions_
    return None if y is None else np.resize(y, (300, *y.shape[1:]))


def assert_close(x, expected):
    """Bytes may be rounded the other way, and be one brightness apart."""
    if expected.dtype == np.uint8:
        assert np.abs(x.astype(int) - expected).max() <= 1
        assert (x != expected).mean() < 0.01
    else:
        assert np.abs(x - expected).max() < 1e-4 * expected.std()


@pytest.mark.parametrize("name", [name for name in FITS if name != "numbers"])
def test_samples_are_those_of_pytorch(name, tmp_path):
    for fitted in FITS[name](tmp_path):
        fitted.save(tmp_path / "model.sliceflow")
        model = runtime.load(tmp_path / "model.sliceflow")
        y = given(model, fitted)
        x = model.sample(300, y, random_state=1)
        expected = fitted.sample(300, y, random_state=1)
        assert x.dtype == expected.dtype
        assert x.shape == expected.shape
        assert_close(x, expected)


@pytest.mark.parametrize("y", [None, np.arange(2100) % 2])
def test_blends_are_those_of_pytorch(y, tmp_path):
    x = np.random.default_rng(0).integers(256, size=(2100, 3, 6, 6)).astype(np.uint8)
    fitted = SlicedFlow(schedule=[Stage(3, 4)], n_particles=300, random_state=0).fit(x, y).model_
    fitted.save(tmp_path / "model.sliceflow")
    model, given = runtime.load(tmp_path / "model.sliceflow"), None if y is None else y[:300]
    assert isinstance(fitted.start, BlendSampler)
    assert_close(model.sample(300, given, 1), fitted.sample(300, given, 1, output="numpy"))


@pytest.mark.parametrize("path", sorted(MODELS.glob("*[0-9].zip")), ids=lambda path: path.stem)
def test_older_files_are_read(path):
    model, expected = runtime.load(path), load(path)
    y = None if expected.codec.classes is None else expected.codec.classes[0]
    assert_close(model.sample(5, y, 3), expected.sample(5, y, 3, output="numpy"))


def test_pytorch_is_not_imported(tmp_path):
    code = f"""
import sys
from sliceflow import runtime
runtime.load({str(MODELS / "version-4.zip")!r}).sample(1, "dark", 0)
assert not set(sys.modules) & {{"torch", "numba", "sklearn", "scipy"}}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_model_given_numbers_is_refused_with_the_fix():
    with pytest.raises(FileError, match=r"use sliceflow\.load"):
        runtime.load(MODELS / "version-4-table.zip")


def test_a_changed_byte_is_detected(tmp_path):
    data = bytearray((MODELS / "version-4.zip").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "bad.zip").write_bytes(data)
    with pytest.raises(FileError, match="changed or damaged"):
        runtime.load(tmp_path / "bad.zip")
