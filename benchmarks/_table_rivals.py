"""Other methods for tables, each in a process of its own: one thread, and default settings."""

import json
import os
import resource
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from benchmarks._rivals import environment

PACKAGES = (
    *("torch==2.13.0", "sdv==2.0.0", "ForestDiffusion==1.0.6", "miceforest==6.0.5"),
    *("utrees==0.3.0", "scikit-learn<1.7", "lightgbm==4.5.0"),
)
"""utrees needs what scikit-learn 1.7 no longer has, and miceforest what LightGBM 4.6 has not."""

LIMIT = 3600
"""CPU seconds after which a method is stopped."""


class Made(NamedTuple):
    """Rows that a method has made, and its CPU seconds."""

    rows: pd.DataFrame
    seconds: float


def drawn_by(method: str, table: pd.DataFrame, n: int) -> Made | None:
    """Return n rows by a method that is fitted to a table; None if it is stopped."""
    whole = [name for name in table if table[name].dtype.kind in "iu"]
    task = {"words": words_of(table), "whole": whole, "n": n}
    return _made(["_table_rival.py", method], task, table)


def _limit() -> None:
    """Have this process stopped when it has used its seconds."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 60))


def filled_by_miceforest(table: pd.DataFrame, n: int, matches: str) -> Made:
    """Return n completed tables, one below the other, and the CPU seconds.

    ``matches`` is how words are drawn: miceforest's ``mean_match_strategy``.
    """
    task = {"words": words_of(table), "n": n, "matches": matches}
    made = _made(["_gap_rival.py"], task, table)
    assert made is not None, "miceforest was stopped"
    return made


def words_of(table: pd.DataFrame) -> list[str]:
    """Return the names of the columns that are no numbers."""
    return [name for name in table if table[name].dtype.kind not in "iuf"]


def _made(command: list[str], task: dict, table: pd.DataFrame) -> Made | None:
    """Return what a script beside this file makes of a table."""
    script = Path(__file__).with_name(command[0])
    python = environment("table-rivals", PACKAGES)
    with tempfile.TemporaryDirectory() as name:
        given, made, about = (Path(name, file) for file in ("given.csv", "made.csv", "task.json"))
        table.to_csv(given, index=False)
        about.write_text(json.dumps(task))
        # -P: `profile.py` beside the script must not hide Python's own
        line = [python, "-P", script, *command[1:], about, given, made]
        env = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(line, capture_output=True, cwd=name, env=env, preexec_fn=_limit)
        if done.returncode == -signal.SIGXCPU:
            return None
        done.check_returncode()
        rows = pd.read_csv(made, dtype=dict.fromkeys(task["words"], str)).astype(table.dtypes)
    return Made(rows, json.loads(done.stdout.splitlines()[-1])["seconds"])
