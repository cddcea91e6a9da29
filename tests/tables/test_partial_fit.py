"""Rows that come in parts: the result is a fit of all rows."""

import numpy as np
import pandas as pd
import pytest

from sliceflow import SlicedTable
from sliceflow.tables._compare import c2st


def rows(n, seed):
    """Return rows whose law drifts with the seed."""
    rng = np.random.default_rng(seed)
    x = rng.normal(seed / 5, 1, n)
    word = np.where(x + rng.normal(size=n) > 1, "high", "low")
    return pd.DataFrame({"x": x, "y": x**2 + rng.normal(size=n), "word": word})


PARTS = [rows(400, seed) for seed in range(10)]
ALL = pd.concat(PARTS, ignore_index=True)


def as_numbers(table):
    return table.assign(word=table["word"] == "high").to_numpy(float)


@pytest.mark.parametrize(("settings", "bar"), [({}, 0.55), ({"keep_rows": False}, 0.7)])
def test_parts_are_as_good_as_all(settings, bar):
    model = SlicedTable(random_state=0, **settings)
    for part in PARTS:
        model.partial_fit(part)
    assert model.n_rows_seen_ == len(ALL)
    drawn = model.sample(4000, random_state=0)
    assert c2st(as_numbers(drawn), as_numbers(ALL)) < bar


def test_no_more_rows_than_asked_for_are_kept():
    model = SlicedTable(max_rows=600, random_state=0)
    for part in PARTS:
        model.partial_fit(part)
    assert model.model_.n_rows == 600
    assert len(model._rows[0].gaps) == 600
    means = model.sample(4000, random_state=0)["x"].mean(), ALL["x"].mean()
    assert means[0] == pytest.approx(means[1], abs=0.2)


def test_one_part_is_a_fit():
    one = SlicedTable(random_state=0).partial_fit(PARTS[0]).sample(20, random_state=0)
    assert one.equals(SlicedTable(random_state=0).fit(PARTS[0]).sample(20, random_state=0))


def test_new_words_are_drawn_too():
    model = SlicedTable(random_state=0).fit(PARTS[0])
    model.partial_fit(PARTS[1].assign(word="other"))
    assert (model.sample(1000, random_state=0)["word"] == "other").mean() > 0.4


def test_a_part_without_a_column_is_refused():
    model = SlicedTable(random_state=0).fit(PARTS[0])
    with pytest.raises(ValueError, match="no column 'y', which the first fit had"):
        model.partial_fit(PARTS[1].drop(columns="y"))


def test_maps_are_made_when_they_are_used():
    model = SlicedTable(random_state=0).fit(PARTS[0])
    before = model.model_
    for part in PARTS[1:3]:
        model.partial_fit(part)
    assert model._model is None
    assert model.model_.n_rows == 1200
    assert before.n_rows == 400


def test_whole_numbers_stay_whole_where_later_rows_have_gaps():
    first = pd.DataFrame({"a": np.arange(40) % 7})
    later = pd.DataFrame({"a": [1.0, np.nan] * 20})
    model = SlicedTable(random_state=0).fit(first).partial_fit(later)
    assert model.sample(20)["a"].dtype == np.int64
    with pytest.raises(ValueError, match="a has decimals, and was whole numbers"):
        model.partial_fit(later / 2)
