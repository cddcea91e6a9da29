"""`sliceflow bench`: measure how fast this machine is."""

import json

from sliceflow.cli._options import Bench
from sliceflow.reproduce._speed import speeds


def run(options: Bench) -> None:
    """Measure, and print each number."""
    figures = {}
    for figure in speeds():
        figures[figure.name] = figure.value
        if not options.json:
            print(figure, flush=True)
    if options.json:
        print(json.dumps(figures))
