"""Fill the gaps of a table by miceforest with its default settings; run by the rivals' Python.

python _gap_rival.py task.json gaps.csv completed.csv

The task names the columns of words, and says how their gaps are matched, and how many completed
tables to make; they are written one below the other.
"""

import json
import sys
from time import process_time

import pandas as pd

ITERATIONS = 5
"""Number of sweeps over all columns, as in the examples of miceforest."""


def main(task_file: str, gaps: str, completed: str) -> None:
    """Do the task of a file."""
    import miceforest

    with open(task_file) as file:
        task = json.load(file)
    table = pd.read_csv(gaps, dtype=dict.fromkeys(task["words"], str))
    table = table.astype(dict.fromkeys(task["words"], "category"))
    started = process_time()
    kernel = miceforest.ImputationKernel(
        table,
        num_datasets=task["n"],
        mean_match_strategy=dict.fromkeys(task["words"], task["matches"]),
        random_state=0,
    )
    kernel.mice(ITERATIONS)
    tables = [kernel.complete_data(number) for number in range(task["n"])]
    seconds = process_time() - started
    pd.concat(tables).to_csv(completed, index=False)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
