"""`sliceflow reproduce`: reproduce the paper's figures and tables."""

from sliceflow.cli._options import Reproduce
from sliceflow.reproduce import REPRODUCTIONS

SMALL = 10
"""Factor by which a small reproduction has fewer steps; it has its square fewer particles."""


def run(options: Reproduce) -> None:
    """Measure, and print each number."""
    shrink = 1 if options.size == "full" else SMALL
    before = set(options.out.glob("*.png"))
    for figure in REPRODUCTIONS[options.name](options.out, shrink):
        print(figure, flush=True)
    for picture in sorted(set(options.out.glob("*.png")) - before):
        print(f"saved {picture}")
