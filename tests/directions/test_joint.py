"""Directions of columns and of a summary: orthonormal, in groups, blind to what is carried."""

import pytest
import torch

from sliceflow.core._random import Draw, Random
from sliceflow.directions import Joint


def draw(d, summary, sizes, seed=0):
    joint = Joint(d, summary, carried=2, sizes=sizes)
    return joint.draw(Random(seed, Draw.DIRECTIONS), torch.zeros(1)).rows.theta


@pytest.mark.parametrize(("d", "summary", "size"), [(1, 1, 1), (4, 6, 1), (5, 5, 2), (3, 9, 256)])
def test_directions_are_an_orthonormal_basis_of_all_that_they_see(d, summary, size):
    theta = draw(d, summary, (size,))
    assert theta.shape == (d + summary, d + summary + 2)
    torch.testing.assert_close(theta @ theta.T, torch.eye(d + summary))
    assert not theta[:, -2:].any()


def test_a_group_of_one_column_sees_its_own_prediction_alone():
    theta = draw(4, 4, (1,))
    for row in theta[:, :8].bool():
        assert row[:4].sum() == 1
        assert torch.equal(row[:4], row[4:])


def test_the_rest_of_the_summary_is_dealt_among_the_groups():
    seen = draw(2, 4, (1,))[:, 4:6].bool()
    assert (seen.sum(dim=1) == 1).all()
    assert (seen.sum(dim=0) == 3).all()


def test_each_step_draws_a_size():
    whole = [draw(3, 3, (1, 256), seed)[:, :6].bool().all().item() for seed in range(30)]
    assert 5 < sum(whole) < 25
