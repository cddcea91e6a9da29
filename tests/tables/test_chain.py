"""Laws of whole tables: what is drawn has the distribution of the data."""

import numpy as np
import pandas as pd
import pytest
import torch

from sliceflow import SlicedTable


def fitted(table, **settings):
    return SlicedTable(random_state=0, **settings).fit(table)


def test_a_gaussian_keeps_its_mean_and_covariance():
    rng = np.random.default_rng(0)
    root = np.array([[1.0, 0, 0], [0.9, 0.3, 0], [-0.5, 0.5, 0.2]])
    table = 10 + rng.normal(size=(5000, 3)) @ root.T
    drawn = fitted(table).sample(20_000, random_state=1)
    assert drawn.mean(axis=0) == pytest.approx(table.mean(axis=0), abs=0.05)
    assert np.cov(drawn.T) == pytest.approx(np.cov(table.T), abs=0.05)


def test_given_a_number_the_others_have_the_conditional_distribution():
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000)
    table = pd.DataFrame({"y": 2 * x + rng.normal(size=5000), "x": x})
    model = fitted(table)
    for value in (-1.5, 0, 1):
        drawn = model.sample(5000, given={"x": value}, random_state=1)
        assert (drawn["x"] == value).all()
        assert drawn["y"].mean() == pytest.approx(2 * value, abs=0.15)
        assert drawn["y"].std() == pytest.approx(1, abs=0.1)


def test_exclusive_or_of_words():
    """Each column alone says nothing of the third; both together determine it."""
    rng = np.random.default_rng(0)
    a, b = rng.choice(["yes", "no"], (2, 2000))
    table = pd.DataFrame({"a": a, "b": b, "differ": np.where(a != b, "yes", "no")})
    drawn = fitted(table).sample(2000, random_state=1)
    assert ((drawn["a"] != drawn["b"]) == (drawn["differ"] == "yes")).mean() > 0.99


def test_a_thousand_words():
    rng = np.random.default_rng(0)
    number = (1000 * rng.random(20_000) ** 2).astype(int)
    table = pd.DataFrame(
        {"word": np.char.mod("w%d", number), "x": number + rng.normal(size=20_000)}
    )
    drawn = fitted(table).sample(20_000, random_state=1)
    share = table["word"].value_counts(normalize=True)
    found = drawn["word"].value_counts(normalize=True).reindex(share.index, fill_value=0)
    assert np.abs(found - share).sum() < 0.3  # two samples of the data themselves differ by 0.22
    residual = drawn["x"] - drawn["word"].str[1:].astype(int)
    assert residual.abs().median() < 15  # of about 290 if x did not depend on the word


def test_an_outlier_does_no_harm():
    rng = np.random.default_rng(0)
    age = rng.normal(45, 12, 2000).round().clip(18, 90)
    age[7] = 999_999
    drawn = fitted(pd.DataFrame({"age": age})).sample(5000, random_state=0)
    assert (
        np.abs(np.quantile(drawn["age"], [0.05, 0.95]) - np.quantile(age, [0.05, 0.95])).max() <= 2
    )


def test_counts_zeros_and_heavy_tails():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "count": rng.poisson(0.8, 4000),
            "rain": np.where(rng.random(4000) < 0.7, 0, rng.gamma(2, 3, 4000)),
            "income": rng.lognormal(0, 2, 4000),
        }
    )
    drawn = fitted(table).sample(100_000, random_state=0)
    assert drawn["count"].dtype == table["count"].dtype
    assert drawn["count"].min() >= 0
    assert (drawn["rain"] == 0).mean() == pytest.approx((table["rain"] == 0).mean(), abs=0.02)
    for q in (0.01, 0.5, 0.99):
        assert drawn["income"].quantile(q) == pytest.approx(table["income"].quantile(q), rel=0.1)


def test_gaps_are_completed_or_kept():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=3000), "b": rng.choice(["u", "v"], 3000)})
    table.loc[(table["a"] > 0) & (rng.random(3000) < 0.6), "b"] = None
    table.loc[rng.random(3000) < 0.1, "a"] = np.nan
    assert not fitted(table).sample(2000, random_state=0).isna().any().any()
    drawn = fitted(table, keep_gaps=True).sample(5000, random_state=0)
    assert drawn.isna().mean().to_numpy() == pytest.approx(table.isna().mean().to_numpy(), abs=0.03)
    assert drawn["b"].isna()[drawn["a"] < 0].mean() < 0.03


def test_the_same_seed_gives_the_same_rows_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=300), "b": rng.integers(0, 4, 300)})
    drawn = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        drawn.append(fitted(table).sample(50, random_state=5))
    assert drawn[0].equals(drawn[1])
    assert drawn[0].equals(drawn[2])
    assert not drawn[0].equals(fitted(table).sample(50, random_state=6))


@pytest.mark.parametrize("n", [2, 3, 20])
def test_few_rows(n):
    table = pd.DataFrame({"a": np.arange(n) / 7, "b": ["x"] * n, "c": [None] * (n - 1) + [1.0]})
    drawn = fitted(table).sample(5, random_state=0)
    assert drawn["a"].between(0, n / 7).all()
    assert (drawn["b"] == "x").all()
