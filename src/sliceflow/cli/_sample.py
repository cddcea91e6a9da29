"""`sliceflow sample`: draw samples from a model into a file."""

from sliceflow.cli._options import Sample
from sliceflow.cli._samples import (
    check_picture,
    conditions,
    load_model,
    output_path,
    save_samples,
)
from sliceflow.cli._tables import sample_table
from sliceflow.core._memory import check_memory
from sliceflow.core._terminal import plural, print_safely
from sliceflow.core._validation import check_integer
from sliceflow.runs._samples import as_bytes
from sliceflow.table_model import TableModel


def run(options: Sample) -> None:
    """Draw samples."""
    model, n = load_model(options.model), check_integer("n", options.n, 1)
    if isinstance(model, TableModel):
        sample_table(model, options)
        return
    if options.given is not None:
        raise ValueError("--given is for tables that were fitted without --y: pass --y instead")
    check_memory("n", n, model.bytes_of_sample)
    out = output_path(options.out, model)
    check_picture(out, model, "n", n)
    y = conditions(model, options.y, n)
    x = model.sample(
        n, y, options.random_state, verbose=True, output="numpy", device=options.device
    )
    save_samples(out, model, as_bytes(x), y)
    print_safely(f"saved {plural(n, 'sample')} in {out}")
