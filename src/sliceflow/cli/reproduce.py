"""`sliceflow reproduce`: the paper's figures and tables."""

from sliceflow.cli.options import Reproduce
from sliceflow.reproduce import REPRODUCTIONS

SMALL = 10
"""How much smaller: numbers of particles by its square."""


def run(options: Reproduce) -> None:
    """Print figures as they are measured."""
    shrink = 1 if options.size == "full" else SMALL
    before = set(options.out.glob("*.png"))
    for figure in REPRODUCTIONS[options.name](options.out, shrink):
        print(figure, flush=True)
    for picture in sorted(set(options.out.glob("*.png")) - before):
        print(f"drew {picture}")
