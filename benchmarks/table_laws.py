"""What columns keep by construction: bounds, whole numbers, zeros and tails; and large tables."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from benchmarks._tables import MAX_HELD_OUT, table_of
from benchmarks.ledger import ROOT, Figure
from sliceflow import SlicedTable
from sliceflow.tables._compare import compare
from sliceflow.tables._layouts import read_table

SEED = 1

SAMPLES = 200_000
"""So many that quantiles of samples are hardly noisy."""

PARTS = 10

ROWS, COLUMNS = 1_000_000, 20


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield what is kept, and how long large tables take."""
    yield from columns(SAMPLES // shrink)
    if shrink == 1:
        yield from parts()
    yield from large(ROWS // shrink**2)


def columns(n: int) -> Iterator[Figure]:
    """Yield how columns with an outlier, many zeros and a heavy tail come back."""
    rng = np.random.default_rng(SEED)
    ages = rng.integers(18, 81, 2000)
    ages[77] = 999_999
    data, drawn = ages, sampled(ages, n)
    apart = np.abs(np.diff([np.quantile(x, (0.05, 0.95)) for x in (data, drawn)], axis=0)).max()
    about = "2,000 ages and one of 999,999: difference of the 5 and 95 % quantiles"
    yield Figure("table.outlier", apart, "years", about)
    counts = np.where(rng.random(20_000) < 0.7, 0, 1 + rng.poisson(3, 20_000))
    drawn = sampled(counts, n)
    is_count = (drawn >= 0) & (drawn == np.rint(drawn))
    yield Figure("table.counts", 100 * is_count.mean(), "%", "whole and not negative, of counts")
    about = f"zeros of counts, {100 * np.mean(counts == 0):.1f} % of the data"
    yield Figure("table.zeros", 100 * np.mean(drawn == 0), "%", about)
    tail = rng.lognormal(0, 2, 20_000)
    found = [np.quantile(x, (0.01, 0.5, 0.99)) for x in (tail, sampled(tail, n))]
    about = "lognormal(2): largest error of the 1, 50 and 99 % quantiles"
    yield Figure("table.lognormal", 100 * np.abs(found[1] / found[0] - 1).max(), "%", about)


def sampled(values: np.ndarray, n: int) -> np.ndarray:
    """Return n samples of a column that stands beside another one."""
    other = np.random.default_rng(SEED).normal(size=len(values)) + np.argsort(values) / len(values)
    table = pd.DataFrame({"other": other, "column": values})
    drawn = SlicedTable(random_state=SEED).fit(table).sample(n, random_state=SEED)
    return drawn["column"].to_numpy()


def parts() -> Iterator[Figure]:
    """Yield how good diamonds in ten parts are, beside one fit."""
    table = table_of("diamonds").sample(frac=1, random_state=SEED).reset_index(drop=True)
    held_out, rows = table[:MAX_HELD_OUT], table[MAX_HELD_OUT:]
    model, started = SlicedTable(random_state=SEED), perf_counter()
    for part in np.array_split(np.arange(len(rows)), PARTS):
        model.partial_fit(rows.iloc[part])
    maker = model.model_
    seconds = perf_counter() - started
    scores = []
    for fitted in (maker, SlicedTable(random_state=SEED).fit(rows).model_):
        drawn = fitted.sample(len(held_out), random_state=SEED)
        scores.append(compare(*(read_table(t)[1] for t in (drawn, held_out, rows)))[0])
    about = f"C2ST of diamonds in {PARTS} parts less that of one fit"
    yield Figure("table.parts.c2st", scores[0] - scores[1], "", about)
    yield Figure("table.parts.seconds", seconds, "s", f"diamonds in {PARTS} parts")
    with tempfile.TemporaryDirectory() as name:
        maker.save(Path(name) / "model.zip")
        size = (Path(name) / "model.zip").stat().st_size
    assert model._rows is not None
    kept = sum(raw.values.nbytes + raw.gaps.nbytes for raw in model._rows)
    about = f"bytes of the rows that are kept / of the model file, diamonds in {PARTS} parts"
    yield Figure("table.parts.kept", kept / size, "", about)


def large(n: int) -> Iterator[Figure]:
    """Yield seconds and memory of a fit to a large table, as a data frame and from Parquet."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "large.parquet"
        mixed(n).to_parquet(path, row_group_size=50_000)
        for kind in ("frame", "parquet"):
            command = [sys.executable, "-m", "benchmarks._large_table", path, kind]
            done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
            told = json.loads(done.stdout.splitlines()[-1])
            about = f"{n:,} rows of {COLUMNS} columns of words and numbers, {kind}"
            yield Figure(f"table.large.seconds.{kind}", told["seconds"], "s", f"the fit, {about}")
            memory = told["peak"] / 2**30
            yield Figure(f"table.large.memory.{kind}", memory, "GiB", f"most memory, {about}")


def mixed(n: int) -> pd.DataFrame:
    """Return a table of numbers, counts, words, dates and gaps that depend on each other."""
    rng = np.random.default_rng(SEED)
    hidden = rng.normal(size=(n, 5)).astype(np.float32)
    table: dict[str, np.ndarray] = {}
    for i in range(COLUMNS):
        score = hidden[:, i % 5] + 0.5 * rng.normal(size=n)
        if i % 4 == 0:
            table[f"number{i}"] = np.where(rng.random(n) < 0.05, np.nan, score)
        elif i % 4 == 1:
            table[f"count{i}"] = np.floor(np.exp(1 + score)).astype(int)
        elif i % 4 == 2:
            words = np.array([f"word {k}" for k in range(20)])
            table[f"word{i}"] = words[(5 * score).astype(int) % 20]
        else:
            table[f"date{i}"] = np.datetime64("2020-01-01") + (100 * score).astype("m8[D]")
    return pd.DataFrame(table)
