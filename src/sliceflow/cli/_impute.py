"""`sliceflow impute`: fill the gaps of a table."""

from sliceflow.cli._options import Impute
from sliceflow.core._terminal import plural, print_safely
from sliceflow.core._validation import check_integer
from sliceflow.tables._files import is_table, load_table, save_table
from sliceflow.tables._imputer import impute


def run(options: Impute) -> None:
    """Fill the gaps, and save the completed tables."""
    n, out = check_integer("n", options.n, 1), options.out
    if not is_table(options.table) or not is_table(out):
        raise ValueError("pass a table, and an --out, that ends in .csv or .parquet")
    tables = impute(load_table(options.table), n, options.random_state)
    out.parent.mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(tables, start=1):
        save_table(out if n == 1 else out.with_stem(f"{out.stem}-{number}"), table)
    print_safely(f"saved {plural(n, 'completed table')} in {out if n == 1 else out.parent}")
