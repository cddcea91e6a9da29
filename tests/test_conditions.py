"""The three questions, for every condition."""

import numpy as np
import pytest
import torch

from sliceflow.conditions import Columns, Label, Observed, Unconditional
from sliceflow.targets import ArrayTarget

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
    drawn = condition.initial(ArrayTarget(z), np.random.default_rng(0), n)
    assert not torch.equal(drawn[:, :9], z)
    assert torch.equal(drawn.sort(dim=1).values, z.repeat(1, n // 9).sort(dim=1).values)


@pytest.mark.parametrize("n", [1, 5, 13])
def test_rows_are_as_even_as_they_can_be(n):
    drawn = ArrayTarget(torch.arange(6.0)[None]).draw(np.random.default_rng(0), n)
    counts = np.bincount(drawn.squeeze(0).long(), minlength=6)
    assert counts.sum() == n
    assert counts.max() - counts.min() <= 1


def test_label_is_one_hot():
    z = Label(3, 10.0).join(X, torch.tensor([2] * 9))
    assert z[4:, 0].tolist() == [0, 0, 1]
