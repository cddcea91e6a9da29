import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from sliceflow.tables._forest import MAX_CLASSES, N_TREES, Forest, most_frequent

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(500, 3))
VALUES = np.round(4 * ROWS[:, 0]) + RNG.integers(0, 2, 500)


def test_rows_find_the_leaves_that_scikit_learn_finds():
    forest = Forest.grow(ROWS, VALUES, True, 15, seed=3)
    trees = ExtraTreesRegressor(N_TREES, min_samples_leaf=15, max_features=1.0, random_state=3)
    expected = trees.fit(ROWS.astype(np.float32), VALUES).apply(ROWS)
    for root, leaves in zip(forest.roots, expected.T, strict=True):
        found = forest._leaves(ROWS.astype(np.float32), np.full(500, root))
        assert (found == root + leaves).all()


def test_leaves_hold_all_rows_and_at_least_so_many():
    forest = Forest.grow(ROWS, VALUES, True, 15, seed=0)
    leaves = forest.size[forest.left == np.arange(len(forest.left))]
    assert leaves.min() >= 15
    assert leaves.sum() == N_TREES * 500


def test_noise_becomes_the_quantiles_of_a_leaf():
    """With one leaf, T is the empirical quantile function, tree after tree."""
    values = RNG.permutation(100).astype(float)
    forest = Forest.grow(np.empty((100, 0)), values, True, 15, seed=0)
    u = (np.arange(100) + 0.5) / 100
    assert (forest.draw(np.empty((100, 0)), u, is_smooth=False) == np.arange(100)).all()


def test_a_smooth_map_has_straight_lines_between_the_values():
    values = np.array([0.0, 1.0, 2.0, 10.0])
    forest = Forest.grow(np.empty((4, 0)), values, True, 15, seed=0)
    u = np.arange(3000) / 3000
    drawn = forest.draw(np.empty((3000, 0)), u, is_smooth=True)
    assert drawn == pytest.approx(np.interp(u, [0, 1 / 3, 2 / 3, 1], values))


def test_words_are_drawn_as_often_as_in_their_leaf():
    rows = RNG.integers(0, 2, (2000, 1)).astype(float)
    words = np.where(rows[:, 0] == 1, 5.0, np.where(RNG.random(2000) < 0.2, 3.0, 4.0))
    forest = Forest.grow(rows, words, False, 15, seed=0)
    drawn = forest.draw(np.zeros((5000, 1)), RNG.random(5000), is_smooth=False)
    assert (drawn == 3).mean() == pytest.approx((words[rows[:, 0] == 0] == 3).mean(), abs=0.02)
    assert not (drawn == 5).any()


def test_rare_words_share_a_number():
    codes = np.concatenate([np.repeat(np.arange(60), 2), [7, 7, 7]])
    numbers = most_frequent(codes)
    assert numbers.max() == MAX_CLASSES
    assert (numbers[codes == 7] == 0).all()


def test_no_leaf_is_empty_where_values_are_neighbouring_numbers():
    start = np.float32(1.0).view(np.int32)
    values = (start + np.arange(200, dtype=np.int32)).view(np.float32)
    rows = np.stack([values, values[::-1]], axis=1)
    forest = Forest.grow(rows, np.arange(200.0), True, 1, 0)
    leaves = forest.left == np.arange(len(forest.left))
    assert (forest.size[leaves] > 0).all()
