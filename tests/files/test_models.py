"""Files of models: what comes back is what went in, and a bad file is one clear error."""

import io
import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import torch
from PIL import Image
from test_model import CONDITIONS, IMAGES, LABELS, MODELS, fitted, sample

import sliceflow
from benchmarks._mutations import BYTES, MAY_LOAD, PARTS, change_numbers, parts_of, spoil
from benchmarks.bad_files import is_silent
from sliceflow import Exact, Fast, FileError, SlicedFlow, Stage, load
from sliceflow.cli import main
from sliceflow.core._memory import peak_memory, reset_peak
from sliceflow.core._random import NumPyRandom
from sliceflow.files._archive import as_json, write
from sliceflow.flow import _starts
from sliceflow.models import describe

NAMES = np.array(["ant", "bee", "cow"])


@pytest.mark.parametrize("start", ["gaussian", "blends", 0.1])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_model_comes_back_as_it_was(condition, start, tmp_path, monkeypatch):
    for name, rows in (("MIN_BLENDED_ROWS", 32), ("CLUSTER_ROWS", 16)):  # these are few images
        monkeypatch.setattr(_starts, name, rows)
    model = fitted(condition, start=start).model_
    model.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    assert np.array_equal(sample(again, range(40), condition), sample(model, range(40), condition))


@pytest.mark.parametrize("y", [NAMES[LABELS], NAMES[LABELS].astype(object), LABELS > 0, None])
def test_labels_and_tables(y, tmp_path):
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(300, 3)) * [1, 10, 100] + 5)
    model = SlicedFlow(schedule=5, engine=Exact(7), n_particles=50, random_state=0).fit(x, y).model_
    model.save(tmp_path / "table.zip")
    again = load(tmp_path / "table.zip")
    given = None if y is None else y[:20]
    assert torch.equal(*(m.sample(20, given, random_state=1) for m in (again, model)))


@pytest.mark.parametrize("channels", [1, 3, 5])
def test_settings_of_numpy_and_any_number_of_channels(channels, tmp_path):
    images = np.random.default_rng(0).integers(256, size=(50, channels, 6, 6), dtype=np.uint8)
    stages = [Stage(np.int64(2), k) for k in np.arange(1, 3)]
    engine = Fast(step_size=np.float32(0.5))
    model = SlicedFlow(schedule=stages, engine=engine, random_state=np.int64(0)).fit(images).model_
    model.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    assert np.array_equal(*(m.sample(20, random_state=1) for m in (again, model)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_any_precision(dtype, tmp_path):
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    model = SlicedFlow(schedule=5, random_state=0).fit(x).model_
    model.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip").sample(20, random_state=1)
    assert again.dtype == dtype
    assert torch.equal(again, model.sample(20, random_state=1))


def test_the_card(tmp_path):
    """It says what the model is, how good it is and how to use it, and it has a picture."""
    path = tmp_path / "model.zip"
    fitted("label").model_.save(path, "Noise by class", {"FID": 12.345})
    with ZipFile(path) as file:
        card, picture = file.read("README.md").decode(), file.read("samples.png")
    for said in ("# Noise by class", "a label: 0, 1, 2", "sample(100, y=0)", "| FID | 12.35 |",
                 "| 3 | 6 | 3 | 2 | False | 1.0 |"):  # fmt: skip
        assert said in card
    assert Image.open(io.BytesIO(picture)).size[0] > 6


def test_the_same_model_is_the_same_bytes(tmp_path):
    for name in "ab":
        fitted().model_.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "good.zip"
    fitted("label", start="gaussian").model_.save(path)
    return path


def test_a_bad_file_is_one_error(good, tmp_path):
    rng, ways, bad = np.random.default_rng(0), set(), tmp_path / "bad.zip"
    for _ in range(300):
        ways.add(way := spoil(rng, good, bad))
        if way == MAY_LOAD:
            assert not is_silent(bad, way)
            continue
        with pytest.raises(FileError, match=r"bad\.zip cannot be used"):
            load(bad)
    assert ways == {way.__name__ for way in BYTES + PARTS}


def test_an_estimator_is_saved_as_its_model(tmp_path):
    estimator = fitted("label")
    estimator.save(tmp_path / "a.zip")
    estimator.model_.save(tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.parametrize("knots", [64, None])
def test_what_has_no_model_cannot_be_saved(knots, tmp_path):
    estimator = SlicedFlow(schedule=1, knots=knots)
    if knots is None:
        estimator.fit(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(ValueError, match=r"call fit\(x\)|knots=64 and fit again"):
        estimator.save(tmp_path / "none.zip")
    assert not list(tmp_path.iterdir())


TABLE = np.random.default_rng(0).normal(size=(200, 4))
OF_TABLES = {
    "unconditional": ({}, None, None),
    "columns": ({}, TABLE[:, 3:], 0.5),
    "label": ({"start": "gaussian"}, LABELS[:200], 1),
    "observed": ({"observed": np.arange(4) < 2}, None, TABLE[0]),
    "exact": ({"engine": Exact(16, step_size=2.0, entropy=0.01), "start": 1.0}, None, None),
}


@pytest.fixture(scope="module", params=OF_TABLES)
def of_table(request, tmp_path_factory):
    """The file of a model of a table, and a y to sample with."""
    settings, y, given = OF_TABLES[request.param]
    path = tmp_path_factory.mktemp("table") / "good.zip"
    SlicedFlow(schedule=8, random_state=0, **settings).fit(TABLE, y).model_.save(path)
    return path, given


@pytest.mark.parametrize("curve", [lambda y: 2 * y, np.sin, np.round])
def test_every_kind_of_regression_is_saved(curve, tmp_path):
    """Lines need no kernels, curves no trees, and steps all of them."""
    rng = np.random.default_rng(0)
    y = rng.uniform(-3, 3, size=1000)
    x = curve(y)[:, None] + 0.05 * rng.normal(size=(1000, 1))
    model = SlicedFlow(schedule=8, random_state=0).fit(x, y).model_
    model.save(tmp_path / "m.zip")
    found = load(tmp_path / "m.zip")
    np.testing.assert_array_equal(found.sample(5, 1.4, 0), model.sample(5, 1.4, 0))
    regressions = (each.codec.residuals.regression for each in (found, model))
    assert len({regression.candidates for regression in regressions}) == 1


@pytest.mark.filterwarnings("ignore:.* is given beyond the data")
def test_other_numbers_give_finite_samples_or_one_error(of_table, tmp_path):
    """Under sums that are right, whatever the numbers are."""
    (good, y), rng, bad = of_table, np.random.default_rng(0), tmp_path / "bad.zip"
    for _ in range(60):
        parts = parts_of(good)
        change_numbers(rng, parts)
        write(bad, parts.items())
        try:
            samples = load(bad).sample(5, y)
        except (FileError, FloatingPointError):
            continue
        assert np.isfinite(samples).all()


def changed(good, bad, change):
    """Write a copy of a model whose config was changed, with sums that are right."""
    parts = parts_of(good)
    config = json.loads(parts["config.json"])
    change(config)
    write(bad, (parts | {"config.json": json.dumps(config).encode()}).items())
    return bad


@pytest.mark.parametrize(
    ("part", "settings"),
    [
        (None, {"shape": [1, 100_000, 100_000]}),
        (None, {"shape": [10**30]}),
        (None, {"shape": []}),
        (None, {"schedule": []}),
        ("engine", {"entropy": 1e300}),
        (None, {"seed": 10**300}),
        ("engine", {"step_size": 1e300}),
        ("engine", {"cells": 10**9}),
        ("engine", {"name": "Exact", "n_directions": 10**12, "memory": 1, "step_size": 1.0}),
        ("condition", {"amplifier": 1e300}),
        ("condition", {"l": 10**10}),
        ("start", {"name": "NoiseSampler", "std": 1e300}),
    ],
)
def test_a_number_that_no_fit_leaves_is_refused_before_memory_is_taken(
    good, tmp_path, part, settings
):
    def change(config):
        (config if part is None else config[part]).update(settings)

    bad = changed(good, tmp_path / "bad.zip", change)
    load(good)  # what is compiled or imported takes memory once
    reset_peak()
    before = peak_memory()
    with pytest.raises(FileError, match="cannot be used"):
        load(bad)
    assert peak_memory() - before < 2**26


def test_more_steps_than_there_are_maps(good, tmp_path):
    bad = changed(good, tmp_path / "bad.zip", lambda c: c["schedule"][0].update(steps=10**9))
    with pytest.raises(FileError, match="has shape"):
        load(bad)


def test_samples_that_are_not_finite_are_an_error(tmp_path):
    """Also of bytes, which would hide it."""
    for x in (TABLE, IMAGES):
        model = SlicedFlow(schedule=2, random_state=0).fit(x).model_
        model.record.maps[-1].high.fill_(float("inf"))
        with pytest.raises(FloatingPointError, match="the samples are not finite"):
            model.sample(5)


def test_the_command_line_says_so_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    settings, *_ = OF_TABLES["exact"]
    SlicedFlow(schedule=8, random_state=0, **settings).fit(TABLE).model_.save("good.zip")
    for size, told in ((1e9, "the samples are not finite"), (1e300, "bad.zip cannot be used")):
        change = {"step_size": size}
        changed("good.zip", Path("bad.zip"), lambda c, change=change: c["engine"].update(change))
        with pytest.raises(SystemExit) as ended:
            main(["sample", "bad.zip"])
        (line,) = capsys.readouterr().err.splitlines()
        assert ended.value.code == 1
        assert told in line
    assert not Path("samples.csv").exists()


def test_the_largest_data_comes_back(tmp_path):
    """What a fit takes, a file does."""
    x = np.random.default_rng(0).uniform(-1e18, 1e18, size=(50, 16))
    model = SlicedFlow(schedule=5, random_state=0).fit(x).model_
    model.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    assert np.array_equal(*(m.sample(20, random_state=0) for m in (again, model)))


def test_no_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.zip")


def test_loading_runs_nothing_of_the_file(good):
    """Python tells of everything that is imported, compiled, run or started."""
    code = f"""
import sys
import sliceflow
sliceflow.load({str(good)!r})  # what Python itself puts off until it is needed
seen = []
sys.addaudithook(lambda event, _: seen.append(event))
model = sliceflow.load({str(good)!r})
print(sorted(set(seen)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['open']\n"


def test_two_processes_and_other_threads(good, tmp_path):
    """The bits of samples are the file's, not the process's."""
    code = f"""
import sys, numpy, sliceflow, torch
torch.set_num_threads(int(sys.argv[1]))
numpy.save(sys.argv[2], sliceflow.load({str(good)!r}).sample(300, numpy.arange(300) % 3, 1))
"""
    results = []
    for threads in "12":
        out = tmp_path / f"{threads}.npy"
        subprocess.run([sys.executable, "-c", code, threads, out], check=True)
        results.append(np.load(out))
    assert np.array_equal(*results)
    assert np.array_equal(results[0], load(good).sample(300, np.arange(300) % 3, 1))


def small_model():
    """Return the model of `version-2.zip`: small images by class, of all kinds of stages."""
    rng = np.random.default_rng(0)
    x = rng.integers(256, size=(200, 1, 6, 6), dtype=np.uint8)
    y = np.array(["dark", "even"])[rng.integers(2, size=200)]
    x[y == "dark"] //= 4
    stages = [Stage(2, 3), Stage(2, 6, 3, band=2), Stage(1, 6, 2, band=(1, None), shared=True)]
    fit = SlicedFlow(schedule=stages, start="gaussian", knots=8, n_particles=100, random_state=0)
    return fit.fit(x, y).model_


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_models_of_all_versions_give_the_samples_they_gave(version):
    """The files were written when the version was new; elsewhere the last bits may differ.

    A new pair is made by `small_model().save("version-5.zip")`, that one of `smaller` of the model
    and, of the loaded model, by `np.save("version-5.npy", samples)`, with the samples of this test.
    """
    model = load(MODELS / f"version-{version}.zip")
    samples = model.sample(20, y=["dark", "even"] * 10, random_state=model.spec.seed).astype(int)
    assert np.abs(samples - np.load(MODELS / f"version-{version}.npy")).max() <= 1


def small_table():
    """Return the model of `version-4-table.zip`: columns given words and numbers, and trees."""
    rng = np.random.default_rng(0)
    words, sizes = rng.integers(2, size=400), rng.uniform(-1, 1, size=(400, 3))
    steps = np.sign(sizes[:, 0] * sizes[:, 1]) + 2 * (sizes[:, 2] > 0.3) * words
    modes = (2 + sizes[:, 0]) * rng.choice([-1, 1], size=400)
    x = np.stack([steps, modes], axis=1) + 0.1 * rng.normal(size=(400, 2))
    y = [[("ant", "bee")[word], *row] for word, row in zip(words, sizes.tolist(), strict=True)]
    return SlicedFlow(schedule=5, knots=8, n_particles=400, random_state=0).fit(x, y).model_


def test_tables_of_all_versions_give_the_samples_they_gave():
    """A new pair is made as for `small_model`."""
    model = load(MODELS / "version-4-table.zip")
    samples = model.sample(20, y=[["ant", 0.5, 0, 0], ["bee", -0.5, 0.5, 0.5]] * 10, random_state=0)
    assert np.allclose(samples, np.load(MODELS / "version-4-table.npy"), atol=1e-4)


def test_a_model_keeps_its_draws_when_it_is_saved_again(tmp_path):
    model, y = load(MODELS / "version-1.zip"), ["dark", "even"] * 10
    model.save(tmp_path / "again.zip")
    again = load(tmp_path / "again.zip")
    assert again.spec.random is NumPyRandom
    assert np.array_equal(again.sample(20, y, random_state=0), model.sample(20, y, random_state=0))


def test_if_numpy_draws_something_else_old_models_are_refused(monkeypatch):
    """Their samples would be wrong, without a word."""
    drawn = NumPyRandom.normal
    monkeypatch.setattr(NumPyRandom, "normal", lambda *asked: 1.01 * drawn(*asked))
    with pytest.raises(FileError, match=r"drawn by NumPy, .* install numpy 2\.4, or fit"):
        load(MODELS / "version-1.zip")
    load(MODELS / "version-2.zip")


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"version": 6}, "version 6, newer than 5: use a newer sliceflow"),
     ({"version": 0}, "version 0, not 5: use the version of sliceflow that wrote it"),
     ({"format": "sliceflow checkpoint"}, "a sliceflow checkpoint, not a sliceflow model")],
)  # fmt: skip
def test_files_of_other_versions_and_formats(changed, said, tmp_path):
    config = {"format": "sliceflow model", "version": 4} | changed
    write(tmp_path / "other.zip", [("config.json", as_json(config))])
    with pytest.raises(FileError, match=said):
        load(tmp_path / "other.zip")


def test_a_file_tells_which_libraries_wrote_it(good):
    config, _ = describe(good)
    assert config["libraries"] == {
        "sliceflow": sliceflow.__version__,
        "numpy": np.__version__,
        "torch": torch.__version__,
    }
    assert describe(MODELS / "version-1.zip")[0]["libraries"] == {}
