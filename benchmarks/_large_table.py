"""A fit to a large table; it tells how long it took, and its memory, as JSON.

python -m benchmarks._large_table rows.parquet frame
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import pandas as pd

from sliceflow import SlicedTable
from sliceflow.core._memory import peak_memory
from sliceflow.tables._files import load_table

if __name__ == "__main__":
    path = Path(sys.argv[1])
    table = pd.read_parquet(path) if sys.argv[2] == "frame" else load_table(path)
    started = perf_counter()
    SlicedTable(random_state=0).fit(table)
    print(json.dumps({"seconds": perf_counter() - started, "peak": peak_memory()}))
