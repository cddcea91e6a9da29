"""Boosted trees: they find steps, say nothing of noise, and never see the row they predict."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict

from sliceflow.codec._boosting import MAX_CUTS, Boosting, _add_up, _split
from sliceflow.codec._trees import FOLDS, MAX_DIFFERENCED, with_differences

RNG = np.random.default_rng(0)
Y = torch.from_numpy(RNG.normal(size=(3000, 5)))
STEPS = (Y[:, 0] > 0.3).double() - 2 * ((Y[:, 1] < 0) & (Y[:, 2] > 0)).double()
NOISE = torch.from_numpy(RNG.normal(size=3000))


def boosted(y, target):
    """Return the trees of one target, and their predictions of rows that they have not seen."""
    ((trees, without),) = Boosting(y).fit(target[:, None])
    return trees, without


def test_steps_are_found():
    trees, without = boosted(Y, STEPS + 0.1 * NOISE)
    assert (without - STEPS).square().mean() < 0.02 * STEPS.var()
    assert (trees(Y) - STEPS).square().mean() < 0.02 * STEPS.var()


def test_values_that_are_close_together_are_found():
    close = ((Y[:, 0] - Y[:, 1]).abs() < 0.3).double()
    _, without = boosted(Y, close)
    assert (without - close).square().mean() < 0.1 * close.var()


def test_differences_are_those_of_each_two_columns():
    y = Y[:, :3].numpy()
    expected = np.stack([y[:, 0] - y[:, 1], y[:, 0] - y[:, 2], y[:, 1] - y[:, 2]], axis=1)
    np.testing.assert_array_equal(with_differences(y), np.hstack([y, expected]))


def test_many_columns_have_no_differences():
    y = np.ones((4, MAX_DIFFERENCED + 1))
    assert with_differences(y).shape == y.shape


def test_several_targets_are_as_each_alone():
    targets = torch.stack([STEPS, NOISE, Y[:, 0] * Y[:, 1]], dim=1)
    together = Boosting(Y).fit(targets)
    for (_, without), target in zip(together, targets.T, strict=True):
        torch.testing.assert_close(without, boosted(Y, target)[1], rtol=0, atol=0)


def test_noise_has_no_trees():
    trees, without = boosted(Y, NOISE)
    assert trees is None
    assert not without.any()


def test_what_is_predicted_exactly_has_no_trees():
    trees, _ = boosted(Y, torch.zeros(len(Y), dtype=torch.float64))
    assert trees is None


def test_predictions_are_as_good_as_those_of_scikit_learn():
    target = STEPS + torch.sin(Y[:, 3]) * Y[:, 4] + 0.3 * NOISE
    _, without = boosted(Y, target)
    other = cross_val_predict(HistGradientBoostingRegressor(random_state=0), Y, target, cv=5)
    ours, theirs = ((torch.as_tensor(p) - target).square().mean() for p in (without, other))
    assert ours < 1.05 * theirs


def test_no_row_is_predicted_by_trees_that_saw_it():
    """A row with a wild value changes the trees for other folds, not those for its own."""
    wild = STEPS.clone()
    wild[7] += 1000
    (own, own_wild), (other, other_wild) = (
        [Boosting(Y)._grow(target.numpy(), fold)[2] for target in (STEPS, wild)]
        for fold in (7 % FOLDS, 8 % FOLDS)
    )
    np.testing.assert_array_equal(own[:20], own_wild[:20])
    assert not np.array_equal(other[:20], other_wild[:20])


def test_a_tree_is_its_questions_and_a_table():
    trees, _ = boosted(Y, STEPS)
    y, total = with_differences(Y[:5].numpy()), np.zeros(5)
    for columns, cuts, values in zip(trees.columns, trees.cuts, trees.values, strict=True):
        for asked, at, leaves in zip(columns.numpy(), cuts.numpy(), values.numpy(), strict=True):
            places = [int("".join(str(int(a)) for a in row), 2) for row in y[:, asked] > at]
            total += leaves[places]
    np.testing.assert_allclose(trees(Y[:5]), total / len(trees.columns))


def test_columns_of_one_or_two_values():
    y = torch.stack([torch.ones(2000), (Y[:2000, 0] > 0).double()], dim=1).double()
    trees, _ = boosted(y, y[:, 1] + 0.1 * NOISE[:2000])
    torch.testing.assert_close(trees(y), y[:, 1], atol=0.05, rtol=0)


def test_few_rows():
    for n in (2, 3, 7):
        trees, without = boosted(Y[:n], STEPS[:n])
        assert trees is None or trees(Y[:n]).isfinite().all()
        assert len(without) == n


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 1.0])
def test_split_sums_are_those_of_the_leaves(share):
    """One half is added up and the other is the rest, whichever has more rows."""
    codes = RNG.integers(0, 8, (2, 500)).astype(np.uint8)
    left, parent = RNG.normal(size=500), RNG.integers(0, 4, 500)
    leaf, rows = 2 * parent + (RNG.random(500) < share), np.arange(500)
    sums, expected = np.zeros((2, 2, 8, MAX_CUTS + 1, 2))
    for column in range(2):
        _add_up(codes[column], left, parent, rows, sums[column, :4])
        _add_up(codes[column], left, leaf, rows, expected[column])
    _split(codes, left, leaf, sums)
    np.testing.assert_allclose(sums, expected, atol=1e-12)
