"""`sliceflow impute`: fill the gaps of a table."""

from sliceflow.cli._options import Impute
from sliceflow.cli._tables import save_rows
from sliceflow.core._terminal import plural, print_safely
from sliceflow.core._validation import check_integer
from sliceflow.data._tables import is_csv, load_csv
from sliceflow.tables._imputer import impute


def run(options: Impute) -> None:
    """Fill the gaps, and save the completed tables."""
    n, out = check_integer("n", options.n, 1), options.out
    if not is_csv(options.table) or not is_csv(out):
        raise ValueError("only CSV tables can be filled: pass a file and --out that end in .csv")
    tables = impute(load_csv(options.table), n, options.random_state)
    out.parent.mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(tables, start=1):
        save_rows(out if n == 1 else out.with_stem(f"{out.stem}-{number}"), table)
    print_safely(f"saved {plural(n, 'completed table')} in {out.parent}")
