"""`SlicedTable`: what goes in, what comes out, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mixed_table import mixed
from sklearn.model_selection import GridSearchCV

from sliceflow import SlicedTable

TABLE = mixed()
MODEL = SlicedTable(random_state=0).fit(TABLE)


def test_a_data_frame_in_and_a_data_frame_out():
    drawn = MODEL.sample(50, random_state=0)
    pd.testing.assert_series_equal(drawn.dtypes, TABLE.dtypes)
    assert drawn.index.equals(pd.RangeIndex(50))
    assert MODEL.feature_names_in_.tolist() == list(TABLE.columns)


def test_polars_in_and_polars_out():
    table = pl.from_pandas(TABLE)
    assert SlicedTable(random_state=0).fit(table).sample(20).schema == table.schema


def test_an_array_in_and_an_array_out():
    table = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    drawn = SlicedTable(random_state=0).fit(table).sample(20)
    assert drawn.dtype == np.float32
    assert drawn.shape == (20, 3)


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({"city": "Rome"}, lambda t: t["city"] == "Rome"),
        ({"city": ["Rome", "Oslo"]}, lambda t: t["city"].isin(["Rome", "Oslo"])),
        ({"age": (30, 40)}, lambda t: t["age"].between(30, 40)),
        ({"age": (None, 40)}, lambda t: t["age"] <= 40),
        ({"height": (170.0, 180.0)}, lambda t: t["height"].between(170, 180)),
        ({"height": 171.25}, lambda t: t["height"] == 171.25),
        ({"size": ("M", "XL")}, lambda t: t["size"].isin(["M", "L"])),
        ({"since": "2021-03-04"}, lambda t: t["since"] == pd.Timestamp("2021-03-04")),
        ({"member": True, "age": 30, "city": "Oslo"}, lambda t: t["member"] & (t["age"] == 30)),
        ({"member": True, "age": (20, 30)}, lambda t: t["member"] & t["age"].between(20, 30)),
    ],
)
def test_samples_have_what_is_given(given, holds):
    drawn = MODEL.sample(40, given=given, random_state=0)
    assert holds(drawn).all()
    pd.testing.assert_series_equal(drawn.dtypes, TABLE.dtypes)


def test_columns_given_to_the_fit_come_first_in_the_chain():
    model = SlicedTable(random_state=0).fit(TABLE, given=["age", "city"])
    model.sample(5, given={"city": "Rome", "age": 30})
    assert not model.model_._chains  # nothing was made anew
    model.sample(5, given={"city": "Rome"})
    assert len(model.model_._chains) == 1


def test_few_rows_of_words_with_numbers_of_their_own_are_not_mixed():
    """The words are the last column, and the sizes of the two do not overlap."""
    rng, n = np.random.default_rng(0), 60
    small, large = (rng.normal(size=(n, 4)) + centre for centre in (0, 6))
    table = pd.DataFrame(np.concatenate([small, large]), columns=list("abcd"))
    table["kind"] = ["small"] * n + ["large"] * n
    drawn = SlicedTable(random_state=0).fit(table).sample(2000, random_state=0)
    is_wrong = (drawn[list("abcd")] > 3).ne(drawn["kind"] == "large", axis=0)
    assert is_wrong.mean().max() < 0.02


def test_a_question_is_prepared_once():
    model = SlicedTable(random_state=0).fit(TABLE[["age", "city", "member"]])
    for age in (30, 40):
        model.sample(5, given={"age": age})
    assert len(model.model_._chains) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"town": "Rome"}, "there is no column 'town': choose from"),
        ({"city": "Bonn"}, "city is never 'Bonn' in the rows of the fit"),
        ({"age": 30.5}, "age is whole numbers: 30.5 cannot be given"),
        ({"age": "old"}, "age cannot be 'old'"),
        ({"age": (1, 2, 3)}, r"give a range as \(lowest, highest\)"),
        ({"age": (90, 99)}, "age has no value between 90 and 99"),
        ({"city": ("Oslo", "Rome")}, "words without an order"),
    ],
)
def test_what_cannot_be_given_is_refused_with_the_fix(given, message):
    with pytest.raises(ValueError, match=message):
        MODEL.sample(5, given=given)


def test_a_number_beyond_the_data_counts_as_the_nearest_with_a_warning():
    with pytest.warns(
        UserWarning, match="age is given beyond the data, which ranges from 18 to 79"
    ):
        drawn = MODEL.sample(5, given={"age": 200}, random_state=0)
    assert (drawn["age"] == 200).all()


def test_ids_are_left_out_with_a_note():
    table = pd.DataFrame({"id": range(100), "x": np.arange(100) % 7})
    with pytest.warns(UserWarning, match="id has another value in nearly every row"):
        model = SlicedTable(random_state=0).fit(table)
    assert list(model.sample(3).columns) == ["x"]
    kept = SlicedTable(types={"id": "numbers"}, random_state=0).fit(table)
    assert list(kept.sample(3).columns) == ["id", "x"]


def test_types_can_be_given():
    table = pd.DataFrame({"zip": [501, 502] * 50, "grade": ["low", "high"] * 50})
    types = {"zip": "words", "grade": ["low", "mid", "high"]}
    model = SlicedTable(types=types, random_state=0).fit(table)
    zips, grades = model.model_.columns
    assert not zips.is_ordered
    assert grades.is_ordered
    assert model.sample(3).dtypes.equals(table.dtypes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"types": {"town": "words"}}, "types names a column 'town'"),
        ({"types": {"city": "numbers"}}, "city is not numbers"),
        ({"types": {"city": "colours"}}, "city cannot be of type 'colours'"),
        ({"types": {"size": ["S", "M"]}}, "size has 'L', which is not in"),
    ],
)
def test_wrong_types_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SlicedTable(**settings).fit(TABLE)


def test_many_rows_are_drawn_from():
    table = np.random.default_rng(0).normal(size=(500, 2))
    assert SlicedTable(max_rows=100, random_state=0).fit(table).model_.n_rows == 100


def test_an_unfitted_one_says_so():
    with pytest.raises(ValueError, match="not fitted: call fit"):
        SlicedTable().sample(3)


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="the table has one row: pass 2 rows or more"):
        SlicedTable().fit(TABLE[:1])


@pytest.mark.parametrize("value", [np.inf, 1e200])
def test_numbers_whose_squares_overflow_are_refused(value):
    with pytest.raises(ValueError, match=r"a has (infinite values|values beyond)"):
        SlicedTable().fit(pd.DataFrame({"a": [1.0, 2.0, value]}))


def test_scikit_learn_can_search_for_settings():
    table = TABLE[["city", "age", "member"]].dropna()
    search = GridSearchCV(SlicedTable(random_state=0), {"max_rows": [20, 300]}, cv=2).fit(table)
    assert set(search.cv_results_["mean_test_score"].round(1)) <= {0.3, 0.4, 0.5, 0.6}
    assert search.best_estimator_.sample(3).shape == (3, 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "two columns have the same name"),
        (pd.DataFrame({"a": [[1], [2]]}), "a has lists or other objects in its cells"),
    ],
)
def test_tables_that_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        SlicedTable().fit(table)
