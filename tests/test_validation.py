"""Bad input at the door: each error says what is wrong and names the fix."""

import numpy as np
import pytest
import scipy.sparse
import torch

from sliceflow import Exact, Fast, SlicedFlow, Stage

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
IMAGES = RNG.normal(size=(10, 1, 6, 6))
Y = RNG.integers(3, size=30)


def spoiled(value, index=(4, 1)):
    x = X.copy()
    x[index] = value
    return x


BAD_DATA = {
    "NaN": (spoiled(np.nan), None, "NaN: fill in"),
    "infinity": (spoiled(np.inf), None, "infinity: drop .* or clip"),
    "too large": (spoiled(1e30), None, "too large for float32: rescale"),
    "dates": (np.array(["2026-01-01", "2026-01-02"], "M8[D]")[:, None], None, "as numbers"),
    "sparse tensor": (torch.from_numpy(X).to_sparse(), None, "pass x.to_dense"),
    "empty": (X[:0], None, "n_samples=0 .* Pass more rows"),
    "one row": (X[:1], None, "n_samples=1 .* Pass more rows"),
    "no columns": (X[:, :0], None, r"0 feature\(s\) .* at least one column"),
    "constant column": (spoiled(7.0, (slice(None), 1)), None, r"column\(s\) \[1\].* Drop them"),
    "one dimension": (X[:, 0], None, "Reshape your data"),
    "no channels": (IMAGES[:, 0], None, "channel axis"),
    "five dimensions": (IMAGES[None], None, r"table \(n, d\) or images"),
    "complex": (X + 1j, None, "Complex data not supported: pass x.real"),
    "complex tensor": (torch.from_numpy(X + 1j), None, "Complex data not supported: pass x.real"),
    "sparse": (scipy.sparse.csr_array(X), None, "pass x.toarray"),
    "strings": (np.array([["a", "b"], ["c", "d"]]), None, "encode other values"),
    "nothing": (None, None, r"pass a table \(n, d\)"),
    "short y": (X, Y[:-1], "one y for each row of x"),
    "scalar y": (X, 3, "one y for each row of x"),
    "NaN in y": (X, np.where(Y == 0, np.nan, Y), "y contains NaN: fill in"),
    "infinity in y": (X, np.where(Y == 0, np.inf, Y), "y contains infinity"),
    "complex y": (X, Y + 1j, "Complex data not supported: pass y.real"),
    "constant y": (X, np.full(30, 0.5), r"constant in column\(s\) \[0\].* drop them"),
    "one class": (X, np.zeros(30, dtype=int), "one class, .* leave y out"),
    "no columns in y": (X, X[:, :0], "no columns: leave it out"),
    "missing labels": (X, np.array(["a", None] * 15), "missing values or labels of several"),
    "mixed labels": (X, np.array(["a", 1] * 15, dtype=object), "missing values or labels of sev"),
    "missing numbers": (X, np.array([1.0, None] * 15, dtype=object), "NaN: fill in"),
    "dates in y": (X, np.arange(30).astype("M8[D]"), "pass strings or integers"),
    "labels in columns": (
        X,
        np.stack([Y, Y], axis=1),
        'of labels, or y_type="numbers"',
    ),
    "too many labels": (np.arange(2002.0)[:, None], np.arange(2002).astype(str), "merge rare ones"),
    "masked": (np.ma.masked_less(X, 0), None, r"masked values: fill .* x\.filled\(\)"),
    "masked y": (X, np.ma.masked_equal(Y, 0), "y has masked values"),
    "beyond 2**53": (np.array([[2**60], [2**60 + 1]]), None, "beyond 2.*subtract"),
    "channels last": (np.zeros((9, 8, 8, 3), np.uint8), None, r"x\.transpose\(0, 3, 1, 2\)"),
    "channels last, grey": (torch.zeros(9, 8, 8, 1), None, r"x\.permute\(0, 3, 1, 2\)"),
    "floats of 0 to 255": (np.full((9, 1, 8, 8), 255.0), None, "255 as uint8"),
    "integers of 0 to 255": (np.full((9, 1, 8, 8), 255), None, "dtype int64: pass bytes"),
}


@pytest.mark.parametrize(("x", "y", "message"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data(x, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SlicedFlow(schedule=1).fit(x, y)


BAD_PARAMETERS = {
    "n_particles=1": ({"n_particles": 1}, "pass n_particles=2 or more"),
    "n_particles=2.5": ({"n_particles": 2.5}, "must be an integer"),
    "schedule=0": ({"schedule": 0}, "pass schedule=1 or more"),
    "schedule=[]": ({"schedule": []}, "at least one Stage"),
    "schedule=[3]": ({"schedule": [3]}, "give Stage"),
    "a bare stage": ({"schedule": Stage(1)}, "put it in a list"),
    "a step too far": ({"engine": Exact(step_size=1e9), "schedule": 9}, "a smaller step_size"),
    "engine='fast'": ({"engine": "fast"}, "pass Fast\\(\\) or Exact\\(\\)"),
    "start=0": ({"start": 0}, "finite and > 0"),
    "start='gauss'": ({"start": "gauss"}, 'pass "gaussian", "blends" or'),
    "levels of a table": ({"schedule": [Stage(1, 2, 2)]}, "x is a table: leave it out"),
    "amplifier=-1": ({"amplifier": -1}, "finite and >= 0"),
    "amplifier='ten'": ({"amplifier": "ten"}, "must be a number"),
    "y_type='words'": ({"y_type": "words"}, 'pass "labels", "numbers"'),
    "bands of Exact": ({"engine": Exact(), "schedule": [Stage(1, band=1)]}, "leave them out"),
    "shared maps of Exact": ({"engine": Exact(), "schedule": [Stage(1, shared=True)]}, "leave the"),
    "balanced numbers": ({"balanced": True, "y_type": "numbers"}, "balanced=True is for labels"),
    "amplifier=1e300": ({"amplifier": 1e300}, r"pass amplifier=1e\+18 or less"),
    "start=1e300": ({"start": 1e300}, r"pass start=1e\+18 or less"),
    "batch_size=1": ({"batch_size": 1}, "pass batch_size=2 or more"),
    "no device": ({"device": None}, "pass device='cpu'"),
    "meta device": ({"device": "meta"}, "pass device='cpu'"),
    "device": ({"device": "abacus"}, "pass device='cpu'"),
    "torch generator": ({"random_state": torch.Generator()}, "initial_seed"),
    "random_state": ({"random_state": -1}, "pass random_state=0 or more"),
}


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS)
def test_bad_parameters(parameters, message):
    with pytest.raises((ValueError, TypeError, FloatingPointError), match=message):
        SlicedFlow(**{"schedule": 1} | parameters).fit(X, Y)


BAD_RUNS = {
    "shards=99": ({}, {"shards": 99}, "pass shards=30"),
    "Exact in shards": ({"engine": Exact()}, {"shards": 2}, "pass Fast"),
    "no launcher": ({}, {"distributed": True}, "sliceflow.launch"),
    "checkpoints": ({}, {"checkpoints": "here"}, "random_state=0"),
    "minutes": ({}, {"checkpoint_minutes": -1}, "finite and >= 0"),
}


@pytest.mark.parametrize(("parameters", "run", "message"), BAD_RUNS.values(), ids=BAD_RUNS)
def test_bad_runs(parameters, run, message):
    with pytest.raises(ValueError, match=message):
        SlicedFlow(schedule=1, **parameters).fit(X, Y, **run)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "pass steps=1 or more"),
        ({"steps": 1.5}, "must be an integer"),
        ({"steps": 1, "resolution": 0}, "pass resolution=1 or more"),
        ({"steps": 1, "resolution": 2, "patch": 0}, "pass patch=1 or more"),
        ({"steps": 1, "patch": 2, "band": 1}, "give its resolution"),
        ({"steps": 1, "resolution": 2, "band": 0}, "pass band=1 or more"),
        ({"steps": 1, "resolution": 2, "shared": "yes"}, "True or False"),
    ],
)
def test_bad_stages(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Stage(**arguments)


@pytest.mark.parametrize(
    ("engine", "arguments", "message"),
    [
        (Exact, {"n_directions": 0}, "pass n_directions=1 or more"),
        (Exact, {"step_size": 0}, "finite and > 0"),
        (Exact, {"memory": 0}, "pass memory=1 or more"),
        (Exact, {"fixed_directions": "no"}, "True or False"),
        (Exact, {"entropy": -1}, "finite and >= 0"),
        (Exact, {"entropy": 1e300}, r"pass entropy=1e\+18 or less"),
        (Exact, {"n_cdf": 1}, "pass n_cdf=2 or more"),
        (Fast, {"step_size": np.nan}, "finite and > 0"),
        (Fast, {"cells": 3}, "pass cells=8 or more"),
        (Fast, {"cells": 2**15}, "pass cells=16384 or less"),
        (Fast, {"step_size": 1e300}, "pass step_size=2 or less"),
        (Fast, {"step_size": 10**400}, "pass step_size=2 or less"),
        (Exact, {"step_size": 1e300}, r"pass step_size=1e\+09 or less"),
        (Exact, {"n_directions": 10**30}, "n_directions is too large"),
    ],
)
def test_bad_engines(engine, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        engine(**arguments)


@pytest.mark.parametrize(
    ("mask", "y", "message"),
    [
        (np.array([True, False, False]), Y, "give one of them"),
        (np.array([1, 0, 0]), None, "pass booleans"),
        (np.array([True, False]), None, "pass a mask of shape"),
        (np.array([True, True, True]), None, "leave it out"),
        (np.array([False, False, False]), None, "mark some"),
    ],
)
def test_bad_masks(mask, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SlicedFlow(schedule=1, observed=mask).fit(X, y)


@pytest.mark.parametrize(
    "parameters", [{"amplifier": 3.0}, {"balanced": True}, {"y_type": "labels"}], ids=str
)
@pytest.mark.parametrize("observed", [None, np.array([True, False, False])], ids=["none", "some"])
def test_what_needs_y_is_refused_without_it(parameters, observed):
    with pytest.raises(ValueError, match="leave it out"):
        SlicedFlow(schedule=1, observed=observed, **parameters).fit(X)


def test_level_larger_than_the_image():
    with pytest.raises(ValueError, match="at most 6"):
        SlicedFlow(schedule=[Stage(1, 7, 3)]).fit(IMAGES)


def fitted(y=None, **parameters):
    return SlicedFlow(schedule=1, random_state=0, **parameters).fit(X, y)


def fitted_bytes():
    images = RNG.integers(256, size=(10, 1, 6, 6), dtype=np.uint8)
    return SlicedFlow(schedule=1, observed="left").fit(images)


MASK = np.array([True, False, False])
BAD_SAMPLES = {
    "not fitted": (SlicedFlow(), 3, None, "call fit"),
    "n=0": (fitted(), 0, None, "pass n=1 or more"),
    "n='3'": (fitted(), "3", None, "must be an integer"),
    "y without a condition": (fitted(), 3, 1, "unconditional: fit"),
    "no label": (fitted(Y), 3, None, r"pass y, one of \[0, 1, 2\]"),
    "unknown label": (fitted(Y), 3, 7, r"unknown labels \[7\]: the model has \[0, 1, 2\]"),
    "two labels for three": (fitted(Y), 3, [0, 1], r"or \(3,\), one for each"),
    "no columns": (fitted(X[:, :2]), 3, None, "pass y, the value"),
    "wrong columns": (fitted(X[:, :2]), 3, [1.0, 2.0, 3.0], r"shape \(2,\), one y for all"),
    "a table for one column": (fitted(X[:, 0]), 6, np.zeros((2, 3)), r"or \(6, 1\), one for each"),
    "too large columns": (fitted(X[:, :2]), 3, [1.0, 1e30], "too large for float32"),
    "NaN in columns": (fitted(X[:, :2]), 3, [1.0, np.nan], "NaN"),
    "no rows": (fitted(observed=MASK), 3, None, "pass y as whole rows"),
    "short rows": (fitted(observed=MASK), 3, [1.0, 2.0], r"shape \(3,\), one y for all"),
    "no bytes": (fitted_bytes(), 3, np.full((1, 6, 6), 0.5), "integers from 0 to 255"),
    "too bright": (fitted_bytes(), 3, np.full((1, 6, 6), 256), "integers from 0 to 255"),
    "NaN in rows": (fitted(observed=MASK), 3, [np.nan, 2.0, 3.0], "where observed, contains NaN"),
}


@pytest.mark.parametrize(("model", "n", "y", "message"), BAD_SAMPLES.values(), ids=BAD_SAMPLES)
def test_bad_samples(model, n, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.sample(n, y=y)


@pytest.mark.parametrize(
    "x",
    [
        X.tolist(),
        X.astype(object),
        X.astype(">f8"),
        X.astype(np.longdouble),
        X.astype(np.float16),
        X[::-1, ::-1],
        np.asfortranarray(X),
        torch.from_numpy(X).requires_grad_(),
        torch.from_numpy(X).to(torch.bfloat16),
    ],
    ids=["list", "objects", "big endian", "long double", "half", "reversed", "fortran",
         "with gradient", "bfloat16"],
)  # fmt: skip
def test_unusual_input_is_taken(x):
    assert SlicedFlow(schedule=1, random_state=0).fit(x).sample(2).shape == (2, 3)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_same_dtype_comes_back(dtype):
    assert SlicedFlow(schedule=1).fit(X.astype(dtype)).particles_.dtype == dtype
    tensor = torch.from_numpy(X.astype(dtype))
    assert SlicedFlow(schedule=1).fit(tensor).particles_.dtype == tensor.dtype


def test_read_only_input_is_taken():
    x = X.copy()
    x.flags.writeable = False
    SlicedFlow(schedule=1).fit(x)


def test_input_is_not_changed():
    x, before = torch.from_numpy(X.copy()).float(), torch.from_numpy(X).float()
    SlicedFlow(schedule=2).fit(x)
    assert torch.equal(x, before)


def test_small_and_constant_problems_do_not_break():
    """Two rows, two particles, constant pixels: legal, and must stay finite."""
    model = SlicedFlow(schedule=5, n_particles=2, random_state=0).fit(X[:2])
    assert np.isfinite(model.particles_).all()
    images = np.zeros((4, 1, 5, 5))
    assert np.isfinite(SlicedFlow(schedule=[Stage(2, 5, 3)]).fit(images).particles_).all()
