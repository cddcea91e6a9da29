"""What every condition answers: how it joins and splits, what is free, groups, numbers."""

import numpy as np
import pytest
import torch

from sliceflow.codec._conditions import Columns, Label, Observed, Unconditional
from sliceflow.core._random import Draw, Key, Random
from sliceflow.flow._targets import ArrayTarget, mixed

X = torch.randn(4, 9, generator=torch.Generator().manual_seed(0))
MASK = torch.tensor([True, False, False, True])
CONDITIONS = {
    "none": (Unconditional(), None, [0, 1, 2, 3]),
    "label": (Label(3, 10.0), torch.tensor([0, 1, 2] * 3), [0, 1, 2, 3]),
    "columns": (Columns(2, 5.0), torch.randn(2, 9), [0, 1, 2, 3]),
    "observed": (Observed(MASK), None, [1, 2]),
}
EVERY = pytest.mark.parametrize(("condition", "y", "free"), CONDITIONS.values(), ids=CONDITIONS)


@EVERY
def test_split_undoes_join(condition, y, free):
    z = condition.join(X, y)
    x, y_again = condition.split(z)
    assert z.shape == (4 + condition.l, 9)
    assert torch.equal(x, X)
    assert y is None if y_again is None else torch.equal(y_again, y)


@EVERY
def test_free(condition, y, free):
    assert torch.arange(4 + condition.l)[condition.free].tolist() == free


@EVERY
@pytest.mark.parametrize("n", [9, 18])
def test_initial_conditions_are_those_of_the_data(condition, y, free, n):
    """Each row as often as any other, in another order."""
    z = condition.join(X, y)
    drawn = ArrayTarget(z).draw(Random(0, Draw.CONDITIONS), n)
    assert not torch.equal(drawn[:, :9], z)
    assert torch.equal(drawn.sort(dim=1).values, z.repeat(1, n // 9).sort(dim=1).values)


@pytest.mark.parametrize("n", [1, 5, 13])
def test_rows_are_as_even_as_they_can_be(n):
    drawn = ArrayTarget(torch.arange(6.0)[None]).draw(Random(0, Draw.CONDITIONS), n)
    counts = np.bincount(drawn.squeeze(0).long(), minlength=6)
    assert counts.sum() == n
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("n", [10, 37, 1000])
def test_initial_labels_are_as_frequent_as_those_of_the_data(n):
    labels = np.repeat([0, 1, 2], [500, 300, 200])
    order = mixed(Random(0, Draw.ORDER), labels)
    condition = Label(3, 10.0)
    target = ArrayTarget(condition.join(torch.zeros(1, 1000), torch.from_numpy(labels[order])))
    _, drawn = condition.split(target.draw(Random(1, Draw.CONDITIONS), n))
    expected = n * np.array([0.5, 0.3, 0.2])
    assert np.abs(np.bincount(drawn, minlength=3) - expected).max() <= 2


def test_bytes_are_spread_over_their_width_afresh():
    z = torch.zeros(40, 3000)
    z[-1] = 7  # a condition
    target = ArrayTarget(z, n_pixels=39)
    first, second = (target.batch(Key(i, Draw.BATCH)).clone() for i in range(2))
    assert (first[-1] == 7).all()
    noise = first[:-1]
    assert noise.abs().max() <= 1 / 256
    assert noise.std().item() == pytest.approx(2 / 256 / 12**0.5, rel=0.01)
    for other in (second[:-1], noise.roll(1, 0), noise.roll(1, 1)):
        assert abs((noise * other).mean() / noise.var()) < 0.05
    assert (target.z[:-1] == 0).all()


def test_a_batch_takes_the_place_of_the_last():
    """Or the memory of a fit grows: see `ArrayTarget`."""
    target = ArrayTarget(torch.zeros(40, 30), n_pixels=39)
    first, second = (target.batch(Key(i, Draw.BATCH)) for i in range(2))
    assert first.data_ptr() == second.data_ptr() != target.z.data_ptr()


def test_label_is_one_hot():
    z = Label(3, 10.0).join(X, torch.tensor([2] * 9))
    assert z[4:, 0].tolist() == [0, 0, 1]
