"""The ledger: every figure that README and docs claim, with how it was measured.

It is a list of rows in `results.json`. The documents show parts of it as tables, between the lines
`<!-- ledger: first.name second.* -->` and `<!-- end -->`, and single values between `<!--=name-->`
and `<!--.-->`; `write` brings both up to date.
"""

import json
import os
import platform
import re
import subprocess
from dataclasses import asdict
from datetime import date
from fnmatch import fnmatch
from pathlib import Path

import torch

from sliceflow.reproduce._figures import Figure

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def machine() -> str:
    """Describe this machine, as far as it matters for speed."""
    cpu = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[0]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores of {cpu}, {memory:.0f} GiB, "
        f"Python {platform.python_version()}, PyTorch {torch.__version__}"
    )


def load() -> list[dict]:
    """Return the rows of the ledger."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else []


def commit() -> str:
    """Return the commit of the code that is measured."""
    changed = _git("diff", "HEAD", "--", "src", "benchmarks/*.py", "examples")
    return _git("rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


def write(figure: Figure, command: str, commit: str) -> None:
    """Put a figure into the ledger, in the place of its last measurement."""
    how = {"command": command, "commit": commit, "date": str(date.today()), "machine": machine()}
    rows = {row["name"]: row for row in load()}
    # its value may be NumPy's, which JSON does not know
    rows[figure.name] = asdict(figure) | {"value": float(figure.value)} | how
    RESULTS.write_text(json.dumps(list(rows.values()), indent=1, ensure_ascii=False) + "\n")
    for document in DOCUMENTS:
        document.write_text(with_tables(document.read_text(), list(rows.values())))


def with_tables(text: str, rows: list[dict]) -> str:
    """Return the document with its tables and single values made anew."""

    def table(match: re.Match) -> str:
        chosen = [row for p in match[1].split() for row in rows if fnmatch(row["name"], p)]
        lines = [f"| {row['about']} | {_number(row)} | `{row['name']}` |" for row in chosen]
        head = "| measured | value | name in the ledger |\n|---|---|---|\n"
        return f"<!-- ledger: {match[1]} -->\n{head}" + "\n".join(lines) + "\n<!-- end -->"

    def single(match: re.Match) -> str:
        row = by_name.get(match[1])  # none, if it was not measured yet
        return match[0] if row is None else f"<!--={match[1]}-->{_number(row)}<!--.-->"

    by_name = {row["name"]: row for row in rows}

    text = re.sub(r"<!-- ledger: (.*?) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)
    return re.sub(r"<!--=(.*?)-->.*?<!--\.-->", single, text)


def _number(row: dict) -> str:
    value = row["value"]
    style = ".1e" if 0 < value < 0.01 else ".3g" if value < 100 else ".0f"
    return f"{value:{style}} {row['unit']}".strip()


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
