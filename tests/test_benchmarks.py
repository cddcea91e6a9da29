"""The ledger: what the documents show is what it holds; and the suites that fill it."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neural_network import MLPClassifier

from benchmarks import ledger
from benchmarks.__main__ import PAPER, SUITES
from benchmarks._c2st import c2st
from benchmarks._simulators import TASKS

COLUMNS = {"name", "value", "unit", "about", "command", "commit", "date", "machine"}
ROW = dict.fromkeys(COLUMNS, "")


def test_every_row_says_how_it_was_measured():
    for row in ledger.load():
        assert set(row) == COLUMNS
        assert isinstance(row["value"], float)
        assert row["command"].startswith("python -m benchmarks")
        assert not row["commit"].endswith("dirty")


def test_names():
    names = [row["name"] for row in ledger.load()]
    assert len(set(names)) == len(names)
    assert {
        "step.bare_ratio.mnist",
        "step.bare_ratio.cifar10",
        "step.speedup.exact",
        "step.speedup.pot",
        "mnist.quick.seconds",
    } <= set(names)


@pytest.mark.parametrize("document", ledger.DOCUMENTS, ids=lambda path: path.name)
def test_documents_show_the_ledger(document):
    text = document.read_text()
    assert ledger.with_tables(text, ledger.load()) == text
    measured = {row["name"] for row in ledger.load()}
    assert measured.issuperset(re.findall(r"<!--=(.*?)-->", text))


def test_tables():
    rows = [
        ROW | {"name": n, "value": v, "about": n.upper()} for n, v in [("a.x", 2.0), ("b", 1e-4)]
    ]
    text = "<!--=b-->0<!--.-->\n<!-- ledger: b a.* -->\nold\n<!-- end -->\nafter"
    head = "| measured | value | name in the ledger |\n|---|---|---|\n"
    lines = "| B | 1.0e-04 | `b` |\n| A.X | 2 | `a.x` |"
    expected = (
        f"<!--=b-->1.0e-04<!--.-->\n<!-- ledger: b a.* -->\n{head}{lines}\n<!-- end -->\nafter"
    )
    assert ledger.with_tables(text, rows) == expected


def test_writing_replaces_what_was_measured_before(tmp_path, monkeypatch):
    document = tmp_path / "doc.md"
    document.write_text("<!-- ledger: a -->\n<!-- end -->")
    monkeypatch.setattr(ledger, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(ledger, "DOCUMENTS", [document])
    for value in (1.0, 3.0):
        ledger.write(ledger.Figure("a", value, "s", "how long"), "python -m benchmarks", "abc")
    (row,) = json.loads((tmp_path / "results.json").read_text())
    assert (row["value"], row["commit"]) == (3, "abc")
    assert "| how long | 3 s | `a` |" in document.read_text()


def test_suites_are_all_there():
    files = {path.stem for path in (ledger.ROOT / "benchmarks").glob("[a-z]*.py")}
    assert files - {"ledger"} | set(PAPER) == set(SUITES)


CLAIMS = {"kills", "bad_files", "red_team"}
"""Suites that count what went well, and that no other test stands for at a smaller size."""


def marked(suite):
    return pytest.param(suite, marks=pytest.mark.slow if suite in CLAIMS else pytest.mark.measures)


NONE = {"bad_files.silent", "red_team.bad", "serve.errors", "serve.lost", "serve.fuzzed.faults"}
"""Figures that count what must not happen."""


@pytest.mark.parametrize("suite", [marked(suite) for suite in SUITES])
def test_a_suite_runs(suite):
    """Small, and once."""
    command = [sys.executable, "-m", "benchmarks", suite, "--short"]
    done = subprocess.run(
        command, cwd=ledger.ROOT, check=True, timeout=900, stdout=subprocess.PIPE, text=True
    )
    figures = re.findall(r"^(\S+) +(\S+)", done.stdout, re.MULTILINE)
    assert not [name for name, value in figures if name in NONE and value != "0"], done.stdout


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_simulations(task):
    try:
        theta, x = task.draw(0, 500)
    except ConnectionError as missing:
        pytest.skip(str(missing))
    again, same = task.draw(0, 500)
    assert np.array_equal(theta, again)
    assert np.array_equal(x, same)
    assert len(theta) == len(x) == 500
    assert np.isfinite(theta).all()
    assert np.isfinite(x).all()


def test_the_judge_of_posteriors():
    """It tells samples apart as well as scikit-learn's classifier, with which it was defined."""
    rng = np.random.default_rng(0)
    one, *others = (rng.normal(mean, size=(500, 2)) for mean in (0, 0, 0.5, 3))
    scores = c2st([one] * 3, others)
    is_sample, folds = np.arange(1000) >= 500, KFold(5, shuffle=True, random_state=1)
    for score, other in zip(scores, others, strict=True):
        data = (np.concatenate([one, other]) - one.mean(axis=0)) / one.std(axis=0)
        network = MLPClassifier((20, 20), max_iter=1000, random_state=1)
        theirs = cross_val_score(network, data, is_sample, cv=folds).mean()
        assert score == pytest.approx(theirs, abs=0.02)
