"""Gaps of three tables, filled by our imputer and by miceforest, both with default settings."""

from collections.abc import Iterator
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks._table_rivals import Made, filled_by_miceforest, words_of
from benchmarks._tables import table_of
from benchmarks.ledger import Figure
from sliceflow import impute
from sliceflow.metrics import crps

TABLES = ("breast_cancer", "males", "diamonds")
ROWS = 4000
"""Maximum number of rows of a table."""

SHARE = 0.25
"""The share of values that are missing."""

DRAWS = 5
SEED = 1
"""Of the rows and the gaps. Settings are chosen with others."""

PATTERNS = ("mcar", "mar")
"""Missing completely at random; and where the first numbers, which are all there, are large."""


MATCHES = {"males": "fast", "diamonds": "fast"}
"""Where miceforest's default way to match words, "normal", ends with an error: it takes the odds of
a probability of 1."""


class Scores(NamedTuple):
    """How good completed tables are.

    ``crps`` is of numbers, in standard deviations; ``accuracy`` and ``loss`` (log loss) of words.
    """

    crps: float
    accuracy: float
    loss: float


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the scores of both, and the worst ratios."""
    ratios, times = [], []
    for name in TABLES if shrink == 1 else TABLES[:1]:
        table = table_of(name).sample(frac=1, random_state=SEED).reset_index(drop=True)
        table = table[: ROWS // shrink]
        for pattern in PATTERNS:
            gaps = with_gaps(table, pattern)
            ours = completed_by_us(gaps)
            yield from figures("sliceflow", name, pattern, table, gaps, ours)
            if shrink == 1:
                theirs = filled_by_miceforest(gaps, DRAWS, MATCHES.get(name, "normal"))
                yield from figures("miceforest", name, pattern, table, gaps, theirs)
                both = [scores(table, gaps, made.rows).crps for made in (ours, theirs)]
                ratios.append(both[0] / both[1])
                times.append(ours.seconds / theirs.seconds)
    if ratios:
        about = f"of {len(ratios)}: tables, and patterns of gaps"
        yield Figure(
            "impute.crps_ratio", max(ratios), "", f"CRPS, ours / miceforest's, worst {about}"
        )
        about = f"CPU seconds, ours / miceforest's, worst {about}"
        yield Figure("impute.seconds_ratio", max(times), "", about)


def with_gaps(table: pd.DataFrame, pattern: str) -> pd.DataFrame:
    """Return the table with gaps."""
    rng = np.random.default_rng(SEED)
    share = np.full(table.shape, SHARE)
    if pattern == "mar":
        first = next(i for i, name in enumerate(table) if table[name].dtype.kind in "iuf")
        rank = table.iloc[:, first].rank(pct=True).to_numpy()
        share = np.tile(2 * SHARE * rank[:, None], table.shape[1])
        share[:, first] = 0
    whole = {name: float for name in table if table[name].dtype.kind in "iu"}
    return table.astype(whole).mask(rng.random(table.shape) < share)


def completed_by_us(gaps: pd.DataFrame) -> Made:
    """Return completed tables, one below the other, and the CPU seconds."""
    started = process_time()
    tables = impute(gaps, DRAWS, random_state=SEED)
    return Made(pd.concat(tables), process_time() - started)


def scores(table: pd.DataFrame, gaps: pd.DataFrame, rows: pd.DataFrame) -> Scores:
    """Return the scores of completed tables, which are one below the other."""
    words = words_of(table)
    numbers, rights, losses = [], [], []
    for name in table:
        missing = (gaps[name].isna() & table[name].notna()).to_numpy()
        drawn = rows[name].to_numpy().reshape(DRAWS, len(table))[:, missing]
        truth = table[name].to_numpy()[missing]
        if name in words:
            known = table[name].dropna().unique()
            counts = np.stack([(drawn == word).sum(axis=0) for word in known])
            shares = (counts + 1 / len(known)) / (DRAWS + 1)
            of_truth = shares[pd.Index(known).get_indexer(truth), np.arange(len(truth))]
            rights += (drawn == truth).mean(axis=0).tolist()
            losses += (-np.log(of_truth)).tolist()
        elif missing.any():
            unit = table[name].std()
            each = crps(
                truth[:, None].astype(float) / unit, drawn.T[..., None].astype(float) / unit
            )
            numbers += [float(each[0])] * int(missing.sum())
    return Scores(*(float(np.mean(part)) for part in (numbers, rights, losses)))


def figures(
    method: str, name: str, pattern: str, table: pd.DataFrame, gaps: pd.DataFrame, made: Made
) -> Iterator[Figure]:
    """Yield the figures of a method."""
    found, end = scores(table, gaps, made.rows), f"{method}, {name}, {pattern.upper()}"
    about = f"gaps: CRPS of numbers in deviations, {end}"
    yield Figure(f"impute.crps.{method}.{name}.{pattern}", found.crps, "", about)
    about = f"gaps: share of right words, {end}"
    yield Figure(f"impute.accuracy.{method}.{name}.{pattern}", found.accuracy, "", about)
    about = f"gaps: log loss of words, {end}"
    yield Figure(f"impute.loss.{method}.{name}.{pattern}", found.loss, "", about)
    about = f"gaps: CPU seconds of {DRAWS} completed tables, {end}"
    yield Figure(f"impute.seconds.{method}.{name}.{pattern}", made.seconds, "s", about)
