"""Files of models: what comes back is what went in, and a bad file is one clear error."""

import numpy as np
import pytest
import torch
from test_model import CONDITIONS, LABELS, fitted, sample

from sliceflow import Exact, SlicedFlow, load, save

NAMES = np.array(["ant", "bee", "cow"])


@pytest.mark.parametrize("start", ["gaussian", 0.1])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_model_comes_back_as_it_was(condition, start, tmp_path):
    model = fitted(condition, start=start).model_
    save(model, tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    assert np.array_equal(sample(again, range(40), condition), sample(model, range(40), condition))


@pytest.mark.parametrize("y", [NAMES[LABELS], NAMES[LABELS].astype(object), LABELS > 0, None])
def test_labels_and_tables(y, tmp_path):
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(300, 3)) * [1, 10, 100] + 5)
    model = SlicedFlow(schedule=5, engine=Exact(7), n_particles=50, random_state=0).fit(x, y).model_
    save(model, tmp_path / "table.zip")
    again = load(tmp_path / "table.zip")
    given = None if y is None else y[:20]
    assert torch.equal(again.sample(20, given), model.sample(20, given))


def test_the_same_model_is_the_same_bytes(tmp_path):
    for name in "ab":
        save(fitted().model_, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
