"""The codec: what goes in comes out, whatever kind of data it is."""

import numpy as np
import pytest
import torch

from sliceflow import Codec, SlicedFlow, load
from sliceflow.codec._scaling import to_bytes

RNG = np.random.default_rng(0)
BYTES = np.arange(256, dtype=np.uint8).reshape(4, 1, 8, 8)
TABLE = RNG.normal(size=(300, 3)) * [1, 1e3, 1e-3] + [0, 1e9, 5]
DATA = {
    "bytes": BYTES,
    "colour": RNG.integers(256, size=(30, 3, 5, 4)).astype(np.uint8),
    "brightness": RNG.uniform(-1, 1, size=(30, 1, 4, 4)).astype(np.float32),
    "table": TABLE,
    "tensor": torch.from_numpy(TABLE).float(),
    "half": TABLE[:, :1].astype(np.float16),
    "whole": RNG.integers(-50, 50, size=(100, 2)),
    "truth": RNG.integers(2, size=(100, 2)) > 0,
    "big-endian": TABLE.astype(">f8"),
}
GIVEN = {
    "labels": np.array(["ant", "bee", "cow"])[RNG.integers(3, size=300)],
    "one column of labels": RNG.integers(3, size=(300, 1)),
    "numbers": RNG.normal(size=300),
    "columns": torch.from_numpy(RNG.normal(size=(300, 2))).half(),
}


@pytest.mark.parametrize("x", DATA.values(), ids=DATA)
def test_rows_come_back_as_they_were(x):
    codec = Codec.fit(x)
    z = codec.encode(x)
    assert z.shape == (codec.scaling.shift.numel(), len(x))
    assert z.dtype == torch.float32
    assert z.abs().max() < 20
    again = codec.decode(z)
    assert type(again) is type(x)
    assert again.shape == x.shape
    torch.testing.assert_close(
        torch.as_tensor(np.asarray(again).astype(float)),
        torch.as_tensor(np.asarray(x).astype(float)),
        rtol=1e-3 if x is DATA["half"] else 1e-6,
        atol=1e-6 if np.asarray(x).dtype.kind == "f" else 0,
    )


def test_a_byte_is_the_middle_of_its_level():
    z = Codec.fit(BYTES).encode(BYTES)
    assert (z[0, 0], z[-1, -1]) == (1 / 256 - 1, 1 - 1 / 256)
    assert to_bytes(torch.tensor([-9.0, -1.0, 0.999, 9.0])).tolist() == [0, 0, 255, 255]


@pytest.mark.parametrize("y", GIVEN.values(), ids=GIVEN)
def test_conditions_come_back_as_they_were(y):
    codec = Codec.fit(TABLE, y)
    again = codec.decode_y(codec.encode(TABLE, y))
    assert type(again) is type(y)
    assert again.shape == y.shape
    if codec.classes is not None:
        assert (again == y).all()
    else:  # the three outermost numbers at each end share one value
        apart = np.abs(np.asarray(again).astype(float) - np.asarray(y).astype(float))
        assert (apart < 1e-3).mean() > 1 - 8 / 300


@pytest.mark.parametrize("y", GIVEN.values(), ids=GIVEN)
def test_what_is_given_is_written_as_rows_of_the_data_are(y):
    """The coordinates of the condition are those that the same y has in the data."""
    codec = Codec.fit(TABLE, y)
    z = codec.particles(codec.given(300, y))
    assert torch.equal(z[3:], codec.encode(TABLE, y)[3:])


def test_observed_columns_come_back_exactly():
    codec = Codec.fit(TABLE, observed=[True, False, True])
    given = codec.given(300, TABLE)
    x = codec.decode(torch.zeros(3, 300), given)
    assert np.array_equal(x[:, [0, 2]], TABLE[:, [0, 2]])
    assert np.allclose(x[:, 1], TABLE[:, 1].mean())


@pytest.mark.parametrize("x", [TABLE, torch.randn(90, 2).bfloat16()], ids=["numpy", "torch"])
def test_samples_are_the_kind_of_array_that_is_asked_for(x):
    flow = SlicedFlow(schedule=3, random_state=0).fit(x)
    assert type(flow.sample(5)) is type(x)
    assert type(flow.sample(5, output="numpy")) is np.ndarray
    assert type(flow.sample(5, output="torch")) is torch.Tensor
    with pytest.raises(ValueError, match="output='pandas'"):
        flow.sample(5, output="pandas")


def test_the_default_device_of_pytorch_does_not_matter(tmp_path):
    """Tensors on the device "meta" have no values: with one of them, all of this would fail."""
    y = GIVEN["labels"]
    here = SlicedFlow(schedule=5, random_state=0).fit(TABLE, y)
    with torch.device("meta"):
        flow = SlicedFlow(schedule=5, random_state=0).fit(TABLE, y)
        flow.save(tmp_path / "model.zip")
        samples = load(tmp_path / "model.zip").sample(9, "ant", random_state=1)
        numbers = SlicedFlow(schedule=5, random_state=0).fit(TABLE, TABLE[:, :1] * 1.5)
        numbers.save(tmp_path / "numbers.zip")
        with pytest.warns(UserWarning, match="beyond the data"):
            load(tmp_path / "numbers.zip").sample(9, 1e6)
        filled = SlicedFlow(schedule=5, observed=np.array([True, False])).fit(TABLE[:, :2])
        assert filled.model_.inpaint(TABLE[:3, :2], 2).shape == (3, 2, 2)
        assert torch.empty(0).is_meta
    assert torch.empty(0).is_cpu
    assert np.array_equal(flow.particles_, here.particles_)
    assert np.array_equal(samples, here.sample(9, "ant", random_state=1))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (TABLE[:, :1], None, "pass the kind of rows"),
        (TABLE, GIVEN["labels"], "fitted without y: leave it out"),
    ],
)
def test_a_codec_refuses_rows_of_another_kind(x, y, message):
    with pytest.raises(ValueError, match=message):
        Codec.fit(TABLE).encode(x, y)
