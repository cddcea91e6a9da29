"""Gaps are filled from their distribution, given what is there; nothing else changes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mixed_table import mixed

from sliceflow import SlicedImputer, impute


def with_gaps(n=2000, seed=0):
    """Return a table whose columns depend on each other, and the same with a fifth missing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    kind = np.where(x + 0.5 * rng.normal(size=n) > 0, "high", "low")
    full = pd.DataFrame({"x": x, "y": 2 * x + 0.5 * rng.normal(size=n), "kind": kind})
    gaps = full.mask(rng.random((n, 3)) < 0.2)
    return full, gaps


FULL, GAPS = with_gaps()


def test_what_is_there_stays_and_all_gaps_are_filled():
    for table in (GAPS, mixed()):
        (completed,) = impute(table, random_state=0)
        assert not completed.isna().any().any()
        pd.testing.assert_series_equal(completed.dtypes, table.dtypes)
        assert ((completed == table) | table.isna()).all().all()


def test_gaps_follow_what_is_there():
    completed = SlicedImputer(random_state=0).fit_transform(GAPS)
    missing = GAPS["y"].isna() & GAPS["x"].notna()
    residual = (completed["y"] - 2 * completed["x"])[missing]
    assert residual.mean() == pytest.approx(0, abs=0.1)
    assert residual.std() == pytest.approx(0.5, abs=0.1)
    words = GAPS["kind"].isna()
    agrees = (completed["kind"] == FULL["kind"])[words].mean()
    truth = ((FULL["x"] > 0) == (FULL["kind"] == "high")).mean()
    assert agrees > truth**2 - 0.1  # draws, and not the most likely word


def test_completed_tables_are_as_spread_as_the_data():
    completed = SlicedImputer(random_state=0).fit_transform(GAPS)
    assert completed[["x", "y"]].cov().to_numpy() == pytest.approx(
        FULL[["x", "y"]].cov().to_numpy(), rel=0.1
    )


def test_several_tables_differ_in_their_gaps():
    first, second = impute(GAPS, 2, random_state=0)
    assert not first.equals(second)
    pd.testing.assert_frame_equal(first[GAPS.notna()], second[GAPS.notna()])


def test_new_rows_are_filled_by_the_maps_of_the_fit():
    imputer = SlicedImputer(random_state=0).fit(GAPS)
    row = pd.DataFrame({"x": [1.5], "y": [np.nan], "kind": [None]})
    assert abs(imputer.transform(row)["y"][0] - 3) < 2


def test_polars_and_arrays():
    table = pl.from_pandas(GAPS)
    assert impute(table, random_state=0)[0].schema == table.schema
    array = GAPS[["x", "y"]].to_numpy()
    completed = SlicedImputer(random_state=0).fit_transform(array)
    assert completed.shape == array.shape
    assert not np.isnan(completed).any()


def test_ids_stay_as_they_are():
    table = GAPS.assign(id=range(len(GAPS)))
    with pytest.warns(UserWarning, match="id has another value"):
        (completed,) = impute(table, random_state=0)
    assert (completed["id"] == table["id"]).all()


def test_gaps_where_there_were_none_are_refused():
    imputer = SlicedImputer(random_state=0).fit(GAPS.assign(x=FULL["x"]))
    with pytest.raises(ValueError, match="x has gaps, and had none in fit"):
        imputer.transform(GAPS)


def test_a_table_without_gaps_is_unchanged():
    pd.testing.assert_frame_equal(SlicedImputer(random_state=0).fit_transform(FULL), FULL)
