"""`sliceflow sample`: from a model to samples in a file."""

import sys

from sliceflow.cli.files import conditions, opened, save_samples
from sliceflow.cli.options import Sample


def run(options: Sample) -> None:
    """Draw samples."""
    model, n = opened(options.model), options.n
    y = conditions(model, options.given, n)
    x = model.sample(n, y, options.seed, verbose=sys.stderr.isatty())
    print(f"{n} samples are in {save_samples(options.out, model, x, y)}")
