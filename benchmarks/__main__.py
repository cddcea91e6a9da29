"""Measure what the documentation claims.

    python -m benchmarks                    print all figures
    python -m benchmarks steps growth       some of them
    python -m benchmarks --short            small, and once: to see that they run
    python -m benchmarks --write            also write them to the ledger and into the docs

Needs `pip install ".[dev]"`. Ratios compare two things in one run, and are medians of five.
"""

import argparse
import importlib
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from benchmarks import ledger
from sliceflow.reproduce import REPRODUCTIONS, celeba, cifar10, cifar10_presets, digits
from sliceflow.reproduce._figures import Figure

SUITES = [
    *("steps", "profile", "roofline", "accuracy", "cells", "growth", "cost", "mnist"),
    *("fid", "cifar10", "cifar10_presets", "digits", "celeba", "classes", "inpainting"),
    *("exact", "illustrations"),
    *("ablation_projections", "ablation_h", "ablation_m", "limits", "halves", "blends", "choices"),
    *(
        "offline",
        "sampling",
        "precision",
        "kills",
        "full_disk",
        "bad_files",
        "red_team",
        "forecasts",
    ),
    *("tables", "table_rivals", "questions", "table_laws", "imputation", "serving", "web"),
    *("line", "posteriors", "posterior_budgets", "posterior_rivals", "predictions"),
    *("ranks", "faults", "streams", "stream_fid", "scaling", "gpus", "numpy_versions"),
]


def suite_of(reproduction: Callable[[Path, int], Iterator[Figure]]) -> Callable:
    """Return a suite that draws into the docs; a small run leaves them alone."""

    def run(repeats: int, shrink: int) -> Iterator[Figure]:
        folder = ledger.ROOT / "docs" / "images" if shrink == 1 else Path(tempfile.gettempdir())
        return reproduction(folder, shrink)

    return run


PAPER = {
    "cifar10": suite_of(cifar10),
    "cifar10_presets": suite_of(cifar10_presets),
    "digits": suite_of(digits),
    "celeba": suite_of(celeba),
    "classes": suite_of(REPRODUCTIONS["figure-classes"]),
    "inpainting": suite_of(REPRODUCTIONS["figure-inpainting"]),
    "exact": suite_of(REPRODUCTIONS["engines"]),
    "illustrations": suite_of(REPRODUCTIONS["figure-2d"]),
    "ablation_projections": suite_of(REPRODUCTIONS["figure-projections"]),
    "ablation_h": suite_of(REPRODUCTIONS["ablation-h"]),
    "ablation_m": suite_of(REPRODUCTIONS["ablation-m"]),
}
"""Suites that are reproductions of the paper."""


def main() -> None:
    """Run the suites asked for."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "suites", nargs="*", choices=[*SUITES, []], metavar="suite", help=", ".join(SUITES)
    )
    parser.add_argument("--short", action="store_true", help="small, once instead of five times")
    parser.add_argument("--write", action="store_true", help="update the ledger and the docs")
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"there is no suite {', '.join(unknown)}: choose from {', '.join(SUITES)}")
    if options.short and options.write:
        parser.error("figures of small sizes are not for the ledger: leave out --short or --write")
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    commit = ledger.commit()
    for suite in options.suites or SUITES:
        started = perf_counter()
        run = PAPER.get(suite) or importlib.import_module(f"benchmarks.{suite}").run
        repeats, shrink = (1, 10) if options.short else (5, 1)
        try:
            for figure in run(repeats, shrink):
                print(f"{figure.name:28} {figure}", flush=True)
                if options.write:
                    ledger.write(figure, command, commit)
        except (FileNotFoundError, ConnectionError) as missing:
            print(f"  {missing}: skipped")
        print(f"  {suite}: {perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
