"""Tables that the tests share: every kind of column, with gaps."""

import datetime as dt

import numpy as np
import pandas as pd

ZONE = "Europe/Paris"
SIZES = pd.CategoricalDtype(["S", "M", "L", "XL"], ordered=True)


def mixed(n=400, seed=0):
    """Return a data frame with columns of every kind, with gaps in some of them."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Oslo", "Paris", "Rome"], n)
    days = rng.integers(0, 1000, n)
    hours = pd.to_timedelta(days, "h")
    table = pd.DataFrame(
        {
            "city": city,
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(10, 1, n).round(2),
            "height": rng.normal(170, 8, n),
            "member": rng.random(n) < 0.3,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D"),
            "seen": (pd.Timestamp("2024-01-01") + hours).tz_localize("UTC").tz_convert(ZONE),
            "born": [dt.date(1980, 1, 1) + dt.timedelta(days=int(d)) for d in days],
            "took": pd.to_timedelta(rng.integers(0, 50, n), "h"),
            "size": pd.Series(rng.choice(["S", "M", "L"], n)).astype(SIZES),
            "team": pd.Categorical(rng.choice(["b", "a"], n), ["b", "a", "c"]),
            "visits": pd.array(rng.poisson(2, n), "Int64"),
            "large": 2**60 + rng.integers(0, 30, n),
            "always": "same",
        }
    )
    for i, name in enumerate(("city", "height", "since", "size", "visits", "born")):
        table.loc[rng.permutation(n)[: 20 + i], name] = None
    return table
