import doctest
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from sliceflow import Exact, Noise, SlicedFlow, Stage, estimator, load

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
IMAGES = RNG.normal(size=(40, 2, 6, 6)).astype(np.float32)
LABELS = np.array(["cat", "dog", "eel"])[RNG.integers(3, size=60)]
MASK = np.array([True, False, False])


def quick(**parameters):
    return SlicedFlow(**{"schedule": 3, "random_state": 0} | parameters)


# scikit-learn's own checks. Expected failures would stand here, by name and with the reason.
EXPECTED_FAILURES: dict[str, str] = {}


@pytest.mark.filterwarnings("ignore:Estimator SlicedFlow does not inherit:UserWarning")
def test_scikit_learns_checks():
    """All of them, but the one that needs SCIPY_ARRAY_API to be set skips itself."""
    results = check_estimator(
        quick(random_state=None), expected_failed_checks=EXPECTED_FAILURES, on_skip=None
    )
    skipped = [r["check_name"] for r in results if r["status"] == "skipped"]
    assert skipped == ["check_array_api_input"]
    assert len(results) > 30


def test_clone_keeps_parameters():
    model = quick(amplifier=3.0, schedule=[Stage(2, 3, 3)])
    assert clone(model).get_params() == model.get_params()


def test_parameters_are_stored_as_given():
    schedule = [Stage(2)]
    assert SlicedFlow(schedule=schedule).schedule is schedule
    assert SlicedFlow().set_params(n_particles=7).n_particles == 7
    assert repr(SlicedFlow(n_particles=7)) == "SlicedFlow(n_particles=7)"
    assert repr(pickle.loads(pickle.dumps(SlicedFlow()))) == "SlicedFlow()"


def test_every_parameter_reaches_the_flow():
    given = {
        "engine": Exact(7, step_size=0.5, memory=12345),
        "schedule": (Stage(1), Stage(2)),
    }
    model = SlicedFlow(**given, n_particles=11, batch_size=8, amplifier=3.0, knots=9, start=0.1,
                       random_state=4)  # fmt: skip
    plan = model.plan(X, LABELS)
    for name, value in given.items():
        assert getattr(plan.spec, name) == value
    assert (plan.spec.seed, plan.flow.knots) == (4, 9)
    assert plan.flow.initial == Noise(0.1)
    assert plan.flow.targets[0].batch_size == 8
    assert plan.spec.condition.amplifier == 3
    assert plan.n_particles == 11


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = quick().fit(X, LABELS)
    before = model.sample(5, y="cat", random_state=1)
    model.set_params(n_particles=7, schedule=0)
    with pytest.raises(ValueError, match="schedule=1"):
        model.fit(X[:20])
    np.testing.assert_array_equal(model.sample(5, y="cat", random_state=1), before)


def test_conditions_are_of_the_kind_of_y():
    codes = np.unique(LABELS, return_inverse=True)[1]
    assert type(quick().fit(X, torch.from_numpy(codes)).conditions_) is torch.Tensor
    x = torch.from_numpy(X).half()
    columns = quick(n_particles=60).fit(x, 1e6 * X[:, 0]).conditions_
    assert columns.dtype == np.float64
    np.testing.assert_allclose(np.sort(columns), np.sort(1e6 * X[:, 0]), atol=1)


def test_importing_sliceflow_does_not_import_scikit_learn():
    command = "import sliceflow, sys; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", command], check=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_in_arrays_out(dtype):
    model = quick().fit(X.astype(dtype))
    for x in (model.particles_, model.sample(60)):
        assert type(x) is np.ndarray
        assert x.dtype == dtype
        assert x.shape == (60, 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_in_tensors_out(dtype):
    model = quick().fit(torch.from_numpy(X).to(dtype))
    for x in (model.particles_, model.sample(60)):
        assert type(x) is torch.Tensor
        assert x.dtype == dtype
        assert x.shape == (60, 3)
    arrays = quick().fit(X.astype(str(dtype).removeprefix("torch.")))
    np.testing.assert_array_equal(arrays.particles_, model.particles_)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint32", "bool"])
@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy])
def test_whole_numbers_in_whole_numbers_out(dtype, make, tmp_path):
    x = make(np.random.default_rng(0).integers(2, size=(100, 2)).astype(dtype))
    model = quick().fit(x).model_
    model.save(tmp_path / "model.zip")
    for samples in (model.sample(50), load(tmp_path / "model.zip").sample(50)):
        assert samples.dtype == x.dtype
        assert type(samples) is type(x)


def test_large_numbers_keep_their_digits():
    """Epoch seconds within one hour, as integers and as floats."""
    rng = np.random.default_rng(0)
    x = 1_700_000_000 + rng.integers(3600, size=(2000, 1))
    for dtype in (np.int64, np.float64):
        samples = SlicedFlow(random_state=0).fit(x.astype(dtype)).sample(2000, random_state=0)
        assert samples.dtype == dtype
        assert len(np.unique(samples)) > 1000
        np.testing.assert_allclose(samples.mean(), x.mean(), atol=60)
    tensor = torch.from_numpy(x).float()  # spaced by 128
    samples = SlicedFlow(random_state=0).fit(tensor).sample(2000, random_state=0)
    assert abs(samples.double().mean() - tensor.double().mean()) < 130


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int64"])
def test_tensors_are_read_as_exactly_as_arrays(dtype):
    """Also where their own arithmetic would truncate the mean and the standard deviation."""
    x = np.random.default_rng(0).integers(0, 250, size=(50, 2)).astype(dtype)
    arrays, tensors = quick().fit(x.astype(np.float64)), quick().fit(torch.from_numpy(x))
    close = {"rtol": 1e-2 if dtype == "float16" else 1e-6, "atol": 0.6}  # integers are rounded
    expected = arrays.particles_.clip(0) if dtype == "uint8" else arrays.particles_  # its range
    np.testing.assert_allclose(tensors.particles_.double(), expected, **close)


def test_images_in_images_out():
    schedule = [Stage(1, 1, 1), Stage(1, 3, 3), Stage(1, 6, 3)]
    model = quick(schedule=schedule, n_particles=30).fit(IMAGES)
    assert model.particles_.shape == (30, 2, 6, 6)
    assert model.sample(5).shape == (5, 2, 6, 6)


def test_same_seed_same_bits():
    one, two = quick().fit(X), quick().fit(X)
    np.testing.assert_array_equal(one.particles_, two.particles_)
    np.testing.assert_array_equal(*(model.sample(9, random_state=5) for model in (one, two)))
    assert not np.array_equal(*(one.sample(9, random_state=seed) for seed in (5, 6)))
    assert not np.array_equal(one.particles_, quick(random_state=1).fit(X).particles_)


def test_each_call_gives_new_samples():
    model = quick().fit(X)
    both = np.concatenate([model.sample(300), model.sample(300)])
    assert len(np.unique(both, axis=0)) == 600


def test_no_global_random_state():
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    quick(random_state=None).fit(X).sample(3)
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


@pytest.mark.parametrize("y", [LABELS, LABELS == "cat", np.unique(LABELS, return_inverse=True)[1]])
def test_labels(y):
    model = quick().fit(X, y)
    assert set(model.classes_) == set(y)
    np.testing.assert_array_equal(np.sort(model.conditions_), np.sort(y))
    assert model.sample(4, y=y[0]).shape == (4, 3)
    assert model.sample(4, y=y[:4]).shape == (4, 3)


@pytest.mark.parametrize("width", [1, 2])
def test_columns(width):
    y = RNG.normal(size=(60, width))
    model = quick().fit(X, y)
    assert model.conditions_.shape == (300, width)  # five particles for each row
    one = y[0] if width > 1 else y[0, 0]
    assert model.sample(4, y=one).shape == (4, 3)
    assert model.sample(4, y=y[:4]).shape == (4, 3)


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor])
def test_observed_values_come_back_bit_for_bit(make):
    model = quick(observed=MASK).fit(make(X))
    given = make(np.where(MASK, X[:7], np.nan))
    x = model.sample(7, y=given)
    np.testing.assert_array_equal(x[:, 0], X[:7, 0])
    assert np.isfinite(np.asarray(x)).all()
    assert (model.sample(5, y=given[0])[:, 0] == X[0, 0]).all()


def test_observed_pixels_come_back_bit_for_bit():
    mask = np.zeros((2, 6, 6), dtype=bool)
    mask[:, :, :3] = True
    model = quick(observed=mask, schedule=[Stage(2, 6, 3)]).fit(IMAGES)
    np.testing.assert_array_equal(model.sample(4, y=IMAGES[:4])[:, mask], IMAGES[:4, mask])


def test_samples_for_an_image_differ_where_the_data_does():
    """The right half is white or black, whatever the left one: samples must not take sides."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(2000, 1, 8, 8), dtype=np.uint8)
    images[..., 4:] = 255 * rng.integers(2, size=(2000, 1, 1, 1))
    model = SlicedFlow(observed="left", schedule="quick", random_state=0).fit(images)
    samples = model.sample(400, y=images[:20].repeat(20, axis=0))
    white = (samples[..., 4:].mean(axis=(1, 2, 3)) > 127).reshape(20, 20).mean(axis=1)
    assert np.count_nonzero((white > 0.1) & (white < 0.9)) >= 15


def test_labels_decide_where_samples_go():
    """Two classes side by side: samples of each must be where its data is."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1000)
    x = rng.normal(size=(1000, 2)) + 5 * np.stack([y, -y], axis=1)
    model = SlicedFlow(schedule=60, random_state=0).fit(x, y)
    for label in (0, 1):
        samples = model.sample(500, y=label)
        np.testing.assert_allclose(samples.mean(axis=0), x[y == label].mean(axis=0), atol=0.3)
        np.testing.assert_allclose(samples.std(axis=0), x[y == label].std(axis=0), atol=0.25)


def test_units_do_not_matter():
    """Columns in any unit, far from zero: the same samples, in those units."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    x = np.stack([y + 0.3 * rng.normal(size=400), y**2], axis=1)
    unit, origin = np.array([1e-3, 1e4]), np.array([1e2, 1.7e9])
    plain = quick(schedule=20).fit(x, y).sample(300, 0.5, random_state=0)
    scaled = quick(schedule=20).fit(origin + unit * x, 7 + 1e3 * y).sample(300, 507.0, 0)
    np.testing.assert_allclose((scaled - origin) / unit, plain, atol=0.05)


def test_pixels_are_not_scaled():
    rows = quick(schedule=[Stage(1, 6, 3)]).plan(IMAGES).flow.targets[0].z.T
    assert torch.equal(
        rows.sort(dim=0).values, torch.from_numpy(IMAGES.reshape(40, -1)).sort(dim=0).values
    )


def test_balanced_labels():
    y = np.repeat([0, 1, 2], [100, 40, 9])
    x = RNG.normal(size=(149, 2)) + 3 * y[:, None]
    counts = np.bincount(quick(n_particles=90, balanced=True).fit(x, y).conditions_)
    assert counts.max() - counts.min() <= 2
    counts = np.bincount(quick(n_particles=149).fit(x, y).conditions_)
    assert counts.tolist() == [100, 40, 9]


BYTES = RNG.integers(256, size=(50, 1, 6, 6), dtype=np.uint8)


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy])
def test_bytes_in_bytes_out(make):
    model = quick(schedule=[Stage(3, 3), Stage(3, 6, 3)]).fit(make(BYTES))
    samples = model.sample(20)
    assert type(samples) is type(make(BYTES))
    assert samples.dtype == make(BYTES).dtype
    assert samples.shape == (20, 1, 6, 6)
    assert np.asarray(samples).std() > 30


def test_bytes_are_brightness_from_minus_one_to_one():
    flow = quick(schedule=[Stage(1, 6, 3)]).plan(BYTES).flow
    middles = (2 * BYTES.reshape(50, -1).astype(np.float32) + 1) / 256 - 1
    z = flow.targets[0].z.T.numpy()
    np.testing.assert_allclose(np.sort(z, axis=0), np.sort(middles, axis=0), atol=1e-6)


def test_observed_bytes_come_back_bit_for_bit():
    mask = np.zeros((1, 6, 6), dtype=bool)
    mask[:, :, :3] = True
    model = quick(observed=mask, schedule=[Stage(2, 6, 3)]).fit(BYTES)
    np.testing.assert_array_equal(model.sample(4, y=BYTES[:4])[:, mask], BYTES[:4, mask])


def test_a_condition_of_no_weight_is_ignored():
    """ξ = 0 falls back to p(x), as the paper says."""
    y = RNG.normal(size=60)
    model = quick(amplifier=0.0).fit(X, y)
    np.testing.assert_array_equal(*(model.sample(9, y, random_state=0) for y in (-0.5, 0.5)))
    np.testing.assert_allclose(np.sort(model.conditions_), np.sort(y), atol=1e-6)


def test_the_model_keeps_a_copy_of_the_data():
    x = torch.randn(50, 1)
    model = quick().fit(x)
    before = model.sample(5, random_state=0)
    x.zero_()
    assert torch.equal(model.sample(5, random_state=0), before)


def test_a_fitted_model_survives_a_pickle():
    model = quick().fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(*(m.sample(5, "cat", random_state=0) for m in (again, model)))


def test_a_pickle_leaves_out_the_data():
    x = np.random.default_rng(0).normal(size=(20_000, 10))
    assert len(pickle.dumps(quick(n_particles=100).fit(x))) < 0.1 * x.nbytes


def test_a_pickle_has_each_map_once():
    """Those of a stage lie in one place: one of them alone would bring it whole."""
    model = quick(schedule=100).fit(X).model_
    maps = sum(T.nbytes for T in model.record.maps)
    assert len(pickle.dumps(model.record)) < maps + 100 * 1000


def test_progress_is_shown_when_asked(capsys, monkeypatch):
    """Where there is no terminal, as lines, of which a short fit would have none."""
    monkeypatch.setattr("sliceflow.flow._progress.SECONDS", 0)
    quick().fit(X)
    assert capsys.readouterr().err == ""
    quick(schedule=[Stage(2), Stage(3)]).fit(X, verbose=True)
    assert "stage 2/2: 5 of 5 steps, 100 %" in capsys.readouterr().err
    quick().fit(X, X[:, 0])
    assert capsys.readouterr().err == ""
    quick().fit(X, X[:, 0], verbose=True)
    assert "predicting x from y" in capsys.readouterr().err


def test_the_docstrings_example():
    assert doctest.testmod(estimator).failed == 0
