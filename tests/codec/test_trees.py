"""Boosted trees: they find steps, say nothing of noise, and never see the row they predict."""

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict

from sliceflow.codec._trees import FOLDS, Boosting

RNG = np.random.default_rng(0)
Y = torch.from_numpy(RNG.normal(size=(3000, 5)))
STEPS = (Y[:, 0] > 0.3).double() - 2 * ((Y[:, 1] < 0) & (Y[:, 2] > 0)).double()
NOISE = torch.from_numpy(RNG.normal(size=3000))


def test_steps_are_found():
    trees, without = Boosting(Y).fit(STEPS + 0.1 * NOISE)
    assert (without - STEPS).square().mean() < 0.02 * STEPS.var()
    assert (trees(Y) - STEPS).square().mean() < 0.02 * STEPS.var()


def test_noise_has_no_trees():
    trees, without = Boosting(Y).fit(NOISE)
    assert trees is None
    assert not without.any()


def test_predictions_are_as_good_as_those_of_scikit_learn():
    target = STEPS + torch.sin(Y[:, 3]) * Y[:, 4] + 0.3 * NOISE
    _, without = Boosting(Y).fit(target)
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
    trees, _ = Boosting(Y).fit(STEPS)
    y, total = Y[:5].numpy(), np.zeros(5)
    for columns, cuts, values in zip(trees.columns, trees.cuts, trees.values, strict=True):
        for asked, at, leaves in zip(columns.numpy(), cuts.numpy(), values.numpy(), strict=True):
            places = [int("".join(str(int(a)) for a in row), 2) for row in y[:, asked] > at]
            total += leaves[places]
    np.testing.assert_allclose(trees(Y[:5]), total / len(trees.columns))


def test_columns_of_one_or_two_values():
    y = torch.stack([torch.ones(2000), (Y[:2000, 0] > 0).double()], dim=1).double()
    trees, _ = Boosting(y).fit(y[:, 1] + 0.1 * NOISE[:2000])
    torch.testing.assert_close(trees(y), y[:, 1], atol=0.05, rtol=0)


def test_few_rows():
    for n in (2, 3, 7):
        trees, without = Boosting(Y[:n].contiguous()).fit(STEPS[:n].contiguous())
        assert trees is None or trees(Y[:n]).isfinite().all()
        assert len(without) == n
