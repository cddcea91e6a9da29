"""`sliceflow bench`: how fast this machine is."""

import json

from sliceflow.cli.options import Bench
from sliceflow.speed import speeds


def run(options: Bench) -> None:
    """Print figures as they are measured."""
    figures = {}
    for figure in speeds():
        figures[figure.name] = figure.value
        if not options.json:
            print(figure, flush=True)
    if options.json:
        print(json.dumps(figures))
