"""How samples compare with data: what is known of tables that are alike, and that are not."""

import numpy as np
import pandas as pd
import pytest
from mixed_table import mixed

from sliceflow.tables._compare import Comparison
from sliceflow.tables._layouts import read_table


def rows(n, seed, slope=2.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    word = np.where(x + 0.3 * rng.normal(size=n) > 0, "high", "low")
    return pd.DataFrame({"x": x, "y": slope * x + rng.normal(size=n), "word": word, "one": "same"})


def compared(samples, data):
    return Comparison.of(read_table(samples)[1], read_table(data)[1])


def test_rows_of_the_same_law():
    found = compared(rows(1000, 1), rows(1000, 2))
    assert found.c2st == pytest.approx(0.5, abs=0.04)
    assert found.nearest == pytest.approx(1, abs=0.1)
    assert found.scores[0] == pytest.approx(found.scores[1], abs=0.05)
    assert max(h.difference for h in found.histograms) < 0.08
    assert np.abs(np.diff(found.dependence, axis=0)).max() < 0.1


def test_copies_are_near():
    data = rows(1000, 2)
    assert compared(data, data).nearest < 0.1


def test_columns_that_depend_otherwise_are_seen():
    found = compared(rows(1000, 1, slope=0), rows(1000, 2))
    assert found.c2st > 0.7
    apart = np.abs(np.diff(found.dependence, axis=0))[0]
    assert apart[0, 1] > 0.3
    assert apart[0, 2] < 0.1
    assert found.scores[1] < found.scores[0] - 0.2


def test_shares_are_of_all_rows():
    data = mixed()
    for histogram in compared(data.sample(frac=1, random_state=0), data).histograms:
        assert histogram.shares.sum(axis=1) == pytest.approx([1, 1])
        assert histogram.difference < 1e-9
        assert len(histogram.labels) in (2, histogram.shares.shape[1])


def test_a_difference_of_shares():
    data, samples = (pd.DataFrame({"a": ["x"] * n + ["y"] * (100 - n)}) for n in (50, 80))
    (histogram,) = compared(samples, data).histograms
    assert histogram.difference == pytest.approx(0.3)
    assert histogram.shares.tolist() == [[0.5, 0.5], [0.8, 0.2]]


def test_few_rows_are_refused():
    with pytest.raises(ValueError, match="too few rows to compare: pass 20 complete ones"):
        compared(rows(19, 1), rows(100, 2))
