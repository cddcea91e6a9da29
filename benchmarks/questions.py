"""Questions to one model of a table with a known law: its answers beside exact ones.

A word a, three Gaussian numbers (x, y, z) with a mean for each a, and a word b by a logistic
regression of the numbers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.ledger import Figure
from sliceflow import SlicedTable
from sliceflow.tables._compare import c2st

ROWS, SAMPLES = 20_000, 5000
SEED = 1
"""Of the rows. Settings are chosen with others."""

SHARES = np.array([0.4, 0.3, 0.2, 0.1])
MEANS = np.array([[0, 0, 0], [2, -1, 1], [-2, 1, 1], [1, 2, -2.0]])
ROOT = np.array([[1, 0, 0], [0.8, 0.6, 0], [-0.5, 0.4, 0.5]])
COVARIANCE = ROOT @ ROOT.T
WORDS, NUMBERS = "abcd", "xyz"

QUESTIONS: dict[str, list[dict[str, Any]]] = {
    "one": [{"a": "b"}, {"x": 1.0}, {"b": "yes"}, {"z": -2.0}],
    "two": [{"a": "a", "x": 0.5}, {"x": 0.0, "b": "no"}, {"x": 1.0, "y": 0.0}],
    "all_but_one": [
        {"a": "c", "x": -1.0, "y": 0.0, "z": 1.0},
        {"a": "a", "x": 0.3, "y": 0.1, "b": "yes"},
        {"x": 0.3, "y": 0.1, "z": 0.0, "b": "yes"},
    ],
}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the mean C2ST of samples given one, two, and all but one column."""
    rng = np.random.default_rng(SEED)
    words = rng.choice(4, ROWS // shrink, p=SHARES)
    table = frame(words, MEANS[words] + rng.normal(size=(len(words), 3)) @ ROOT.T, rng)
    model = SlicedTable(random_state=SEED).fit(table)
    n = SAMPLES // shrink
    for name, questions in QUESTIONS.items():
        scores = [score(model, given, n, rng) for given in questions]
        about = f"C2ST to the exact conditional, mean of {len(scores)} questions with {name} given"
        yield Figure(f"question.c2st.{name}", float(np.mean(scores)), "", about)
        fitted = [SlicedTable(random_state=SEED).fit(table, given=list(q)) for q in questions]
        scores = [score(one, given, n, rng) for one, given in zip(fitted, questions, strict=True)]
        about = f"the same, by models that were fitted to be given these: {name} given"
        yield Figure(f"question.fitted.{name}", float(np.mean(scores)), "", about)


def frame(words: np.ndarray, numbers: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows of the table, with b drawn."""
    slope = 1.5 * (numbers @ [1, -1, 0.5])
    is_yes = rng.random(len(words)) < 1 / (1 + np.exp(-slope))
    columns = {"a": [WORDS[i] for i in words], **dict(zip(NUMBERS, numbers.T, strict=True))}
    return pd.DataFrame(columns | {"b": np.where(is_yes, "yes", "no")})


def score(model: SlicedTable, given: Mapping[str, Any], n: int, rng: np.random.Generator) -> float:
    """Return the C2ST of the columns that are not given."""
    tables = model.sample(n, given=dict(given), random_state=SEED), exact(given, n, rng)
    return c2st(*(as_numbers(table.drop(columns=list(given))) for table in tables))


def as_numbers(table: pd.DataFrame) -> np.ndarray:
    """Return the rows of a table with words as numbers."""
    codes = {word: i for i, word in enumerate((*WORDS, "no", "yes"))}
    columns = [c.map(codes) if name in "ab" else c for name, c in table.items()]
    return np.stack(columns, axis=1).astype(float)


def exact(given: Mapping[str, Any], n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return n rows of the law, given some values; those of b by rejection."""
    known = [i for i, name in enumerate(NUMBERS) if name in given]
    unknown = [i for i in range(3) if i not in known]
    values = np.array([given[NUMBERS[i]] for i in known])
    inverse = np.linalg.inv(COVARIANCE[np.ix_(known, known)])
    gaps = values - MEANS[:, known]
    weights = SHARES * np.exp(-np.einsum("wi,ij,wj->w", gaps, inverse, gaps) / 2)
    if "a" in given:
        weights = weights * (np.arange(4) == WORDS.index(given["a"]))
    slopes = COVARIANCE[np.ix_(unknown, known)] @ inverse
    covariance = COVARIANCE[np.ix_(unknown, unknown)] - slopes @ COVARIANCE[np.ix_(known, unknown)]
    root = np.linalg.cholesky(covariance)
    rows: list[pd.DataFrame] = []
    while sum(map(len, rows)) < n:
        words = rng.choice(4, 4 * n, p=weights / weights.sum())
        numbers = np.empty((4 * n, 3))
        numbers[:, known] = values
        noise = rng.normal(size=(4 * n, len(unknown))) @ root.T
        numbers[:, unknown] = MEANS[words][:, unknown] + gaps[words] @ slopes.T + noise
        drawn = frame(words, numbers, rng)
        rows.append(drawn if "b" not in given else drawn[drawn["b"] == given["b"]])
    return pd.concat(rows)[:n]
