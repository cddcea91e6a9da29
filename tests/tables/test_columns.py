import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliceflow.tables._columns import GAP, Column
from sliceflow.tables._raw import Raw

KINDS = {
    "whole numbers": np.array([3, 1, 1, 2**62, -5]),
    "decimals": np.array([0.1, 0.25, 0.1, 100.0, -7.5]),
    "times": np.array(["2020-01-01", "2020-02-01", "2020-01-01"], "datetime64[us]"),
    "durations": np.array([1, 5, 1], "timedelta64[s]"),
    "words": np.array(["b", "a", "b", "ö"], object),
    "booleans": np.array([True, False, True], object),
    "continuous": np.random.default_rng(0).normal(size=50),
}


@pytest.mark.parametrize("values", KINDS.values(), ids=KINDS)
def test_values_come_back_from_their_codes(values):
    column = Column.of("a", values)
    decoded, gaps = column.decode(column.encode(values))
    assert decoded.dtype == values.dtype
    assert (decoded == values).all()
    assert not gaps.any()


def test_a_gap_is_a_code():
    raw = Raw.of("a", np.array([1.0, np.nan, 3.0]), np.array([False, False, False, True]))
    codes = raw.codes(raw.column())
    assert codes.tolist() == [0, GAP, 1, GAP]
    _, gaps = raw.column().decode(codes)
    assert gaps.tolist() == [False, True, False, True]


NUMBERS = st.lists(st.integers(-(10**6), 10**6), min_size=30, max_size=60, unique=True)


@given(NUMBERS, st.integers(1, 7))
def test_what_is_between_whole_numbers_is_a_multiple_of_their_step(numbers, step):
    values = step * np.array(numbers)
    column = Column.of("a", values)
    assert column.is_continuous
    drawn, _ = column.decode(np.random.default_rng(0).uniform(0, len(values) - 1, 100))
    assert ((drawn - values.min()) % np.gcd.reduce(np.diff(np.sort(values))) == 0).all()
    assert values.min() <= drawn.min() <= drawn.max() <= values.max()


def test_what_is_between_prices_has_two_decimals():
    values = np.random.default_rng(0).lognormal(5, 1, 200).round(2)
    column = Column.of("price", values)
    drawn, _ = column.decode(np.random.default_rng(1).uniform(0, len(column.values) - 1, 500))
    assert (drawn == drawn.round(2)).all()
    assert len(set(drawn)) > 300


def test_values_that_occur_often_are_drawn_as_they_are():
    values = np.where(np.arange(300) < 200, 0, np.random.default_rng(0).lognormal(size=300))
    assert not Column.of("rain", values).is_continuous


def test_places_keep_a_line_straight_and_outliers_near():
    rng = np.random.default_rng(0)
    straight = Column.of("a", rng.normal(7, 3, 500))
    assert np.corrcoef(straight.values, straight.places)[0, 1] == pytest.approx(1)
    heavy = Column.of("b", rng.lognormal(0, 3, 500))
    assert np.abs(heavy.places).max() < 4
    assert (np.diff(heavy.places) > 0).all()


@pytest.mark.parametrize(
    ("values", "is_id"),
    [
        (np.arange(100), True),
        (np.arange(100) * 7919 % 100_003, False),  # all different, but not numbered
        (np.array([f"name {i}" for i in range(100)], object), True),
        (np.array(["a", "b"] * 50, object), False),
        (np.random.default_rng(0).normal(size=100), False),
        (np.arange(10), False),  # so few may be anything
    ],
)
def test_ids_are_noticed(values, is_id):
    assert Raw.of("a", values, np.zeros(len(values), bool)).is_id(len(values)) == is_id


def test_ids_are_noticed_in_some_of_the_rows():
    some = np.random.default_rng(0).permutation(10_000)[:500]
    assert Raw.of("a", some, np.zeros(500, bool)).is_id(10_000)
    assert not Raw.of("a", some, np.zeros(500, bool)).is_id(500)


def test_words_in_a_given_order_have_that_order():
    column = Column.of("size", np.array(["L", "S"], object), ["S", "M", "L"])
    assert column.is_ordered
    assert column.encode(np.array(["S", "M", "L"], object)).tolist() == [0, 1, 2]


def test_a_word_that_is_not_there_is_refused_with_those_that_are():
    column = Column.of("city", np.array(["Oslo", "Rome"], object))
    with pytest.raises(
        ValueError, match="city is never 'Bonn' in the rows of the fit, but 'Oslo', 'Rome'"
    ):
        column.encode(np.array(["Bonn"], object))
