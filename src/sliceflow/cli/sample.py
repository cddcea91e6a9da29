"""`sliceflow sample`: from a model to samples in a file."""

from sliceflow._memory import check_memory
from sliceflow._terminal import counted, say
from sliceflow._validation import check_integer
from sliceflow.cli.files import (
    as_arrays,
    check_picture,
    checked_out,
    conditions,
    opened,
    save_samples,
)
from sliceflow.cli.options import Sample


def run(options: Sample) -> None:
    """Draw samples."""
    model, n = opened(options.model), check_integer("n", options.n, 1)
    check_memory("n", n, model.bytes_of_sample)
    out = checked_out(options.out, model)
    check_picture(out, model, "n", n)
    y = conditions(model, options.y, n)
    x = model.sample(n, y, options.random_state, verbose=True)
    save_samples(out, model, as_arrays(x), y)
    say(f"{counted(n, 'sample')} in {out}")
