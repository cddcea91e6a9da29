"""Posteriors from fewer and from more simulations; `posteriors` has those from 10,000."""

from collections.abc import Iterator

from benchmarks._simulators import TASKS
from benchmarks.ledger import Figure
from benchmarks.posteriors import fitted, judged

BUDGETS = (1_000, 100_000)
"""Numbers of simulations."""

WIDE = ("slcp_distractors", "bernoulli_glm_raw")
"""Tasks that are left out: they have 100 columns of y, and take as long as all others."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield, for each task, the mean C2ST over observations, and the seconds of the fit."""
    for n in BUDGETS if shrink == 1 else BUDGETS[:1]:
        for task in (task for task in TASKS if task.name not in WIDE):
            yield from judged(task, fitted(task, n), shrink, f"{n}.")
