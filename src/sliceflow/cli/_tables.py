"""Tables of any columns, as given on the command line."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from sliceflow.cli._options import Evaluate, Fit, Sample
from sliceflow.cli._source import names_of
from sliceflow.core._atomic import write_text
from sliceflow.core._memory import check_memory
from sliceflow.core._terminal import plural, print_safely
from sliceflow.core._warnings import warn_user
from sliceflow.runs._run import Run
from sliceflow.runs._table_report import write_table_report
from sliceflow.table import SlicedTable
from sliceflow.table_model import TableModel
from sliceflow.tables._compare import Comparison, TooFewRowsError
from sliceflow.tables._files import is_table, load_table, save_table
from sliceflow.tables._layouts import read_table, some_rows
from sliceflow.tables._raw import Raw

N_SAMPLES = 1000
"""Number of rows that a finished run shows."""

OF_TABLES = ("data", "out", "columns", "types", "update", "random_state", "resume")
"""Options of a fit that are about tables, too."""


def is_for_table(options: Fit) -> bool:
    """Return whether a fit is of a table with nothing given: of p(row)."""
    return is_table(options.data) and options.y is None and not options.stream


def check_options(options: Fit) -> None:
    """Refuse options that only flows have."""
    for field in fields(Fit):
        if field.name not in OF_TABLES and getattr(options, field.name) != field.default:
            flag = f"--{field.name.replace('_', '-')}"
            raise ValueError(
                f"{flag} is not for tables without --y, whose columns are drawn one after another: "
                "leave it out"
            )


def fit_table(run: Run, options: Fit, settings: dict[str, Any]) -> None:
    """Fit a model to a table, and save it, samples and a report in the folder of the run."""
    files = [options.data, *names_of("--update", options.update)]
    table, *later = (read_columns(Path(path), options.columns) for path in files)
    model = SlicedTable(types=types_of(options.types), random_state=options.random_state)
    model.fit(table)
    for rows in later:
        model.partial_fit(rows)
    samples = model.sample(N_SAMPLES, random_state=0)
    write_text(run.config, yaml.safe_dump(settings, sort_keys=False))
    save_table(samples_of(run, options.data), samples)
    has_report = write_report(run, options, samples, table)
    model.save(run.model, about=options.data)
    where = f": open {run.report}" if has_report else ""
    print_safely(f"saved the model and {plural(N_SAMPLES, 'sample')} in {run.folder}{where}")


def write_report(run: Run, options: Fit, samples: Any, table: Any) -> bool:
    """Compare samples with the data on a page, and return whether there were enough rows for it."""
    try:
        found = comparison(samples, table, N_SAMPLES, options.types)
    except TooFewRowsError as error:
        warn_user(f"there is no report: {error}")
        return False
    write_table_report(run.report, str(options.data), found, run.repeat())
    return True


def samples_of(run: Run, data: str | Path) -> Path:
    """Return the path of the samples of a run: a file like that of the data."""
    return run.folder / f"samples{Path(data).suffix.lower()}"


def types_of(text: str | None) -> dict[str, Any]:
    """Return what --types says: zip=words,code=id,size=S<M<L."""
    types: dict[str, Any] = {}
    for part in text.split(",") if text else []:
        name, equals, kind = (word.strip() for word in part.partition("="))
        if not equals:
            raise ValueError(f"--types {part}: write a name and a type, such as zip=words")
        types[name] = [word.strip() for word in kind.split("<")] if "<" in kind else kind
    return types


def read_columns(path: Path, columns: str | None) -> Any:
    """Return some columns of a file, or all."""
    table = load_table(path)
    names = names_of("--columns", columns) or table.names
    if unknown := [name for name in names if name not in table.names]:
        raise ValueError(f"{path} has no column {unknown[0]!r}: it has {', '.join(table.names)}")
    return table.select(names)


def sample_table(model: TableModel, options: Sample) -> None:
    """Draw rows, and save them."""
    if options.y is not None:
        raise ValueError("--y is not for this model: pass --given with names, such as age=30")
    check_memory("n", options.n, 2 * 8 * len(model.columns))
    out = options.out or Path("samples.csv")
    if not is_table(out):
        raise ValueError(
            f"--out {out} does not fit rows of a table: it has to end in .csv or .parquet"
        )
    rows = model.sample(options.n, given_of(model, options.given), options.random_state)
    out.parent.mkdir(parents=True, exist_ok=True)
    save_table(out, rows)
    print_safely(f"saved {plural(options.n, 'sample')} in {out}")


def given_of(model: TableModel, text: str | None) -> dict[str, Any]:
    """Return what --given says: age=30,city=Paris, age=30..40, city=Paris|Rome."""
    given: dict[str, Any] = {}
    for part in text.split(",") if text else []:
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"--given {part}: write a name and a value, such as age=30")
        given[name.strip()] = _value(model, name.strip(), value.strip())
    return given


def _value(model: TableModel, name: str, text: str) -> Any:
    """Return one value, a range a..b, or several values a|b."""
    if ".." in text:
        low, _, high = text.partition("..")
        return tuple(model.read_value(name, end) if end else None for end in (low, high))
    if "|" in text:
        return [model.read_value(name, value) for value in text.split("|")]
    return model.read_value(name, text)


def evaluate_table(
    options: Evaluate, samples: Any, data: Path, types: str | None = None
) -> dict[str, float]:
    """Compare rows with those of a file; also draw pictures, if asked."""
    found = comparison(samples, load_table(data), options.n, types)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_table_report(options.out, f"{options.samples} and {data}", found)
    return found.figures()


def comparison(samples: Any, data: Any, n: int, types: str | None) -> Comparison:
    """Compare n rows of two tables, by the columns that both have."""
    ours, theirs = (_some(table, n, types_of(types)) for table in (samples, data))
    names = [name for name in theirs if name in ours]
    if not names:
        raise ValueError("the samples and the data share no column: rename one")
    return Comparison.of([ours[name] for name in names], [theirs[name] for name in names])


def _some(table: Any, n: int, types: dict[str, Any]) -> dict[str, Raw]:
    """Return the columns of n rows of a table, by name, of the given types."""
    _, raws = read_table(some_rows(table, n, 0))
    kept = (raw for raw in raws if types.get(raw.name) != "id" and not raw.gaps.all())
    return {raw.name: raw.as_type(types[raw.name]) if raw.name in types else raw for raw in kept}
