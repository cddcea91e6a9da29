"""Model files of tables: the same kind of archive, with columns and maps in it."""

from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sliceflow.core._reading import FileError
from sliceflow.core._validation import check_flag, check_integer
from sliceflow.data._tables import SEPARATORS
from sliceflow.files._archive import (
    CARD,
    Archive,
    Config,
    Sizes,
    as_json,
    as_safetensors,
    opened,
    write,
)
from sliceflow.tables._chain import Chain
from sliceflow.tables._columns import Column, as_objects
from sliceflow.tables._forest import Forest
from sliceflow.tables._frames import ArrayLayout, FrameLayout
from sliceflow.tables._layouts import Layout
from sliceflow.tables._link import Link, Sight
from sliceflow.tables._text import TextLayout

FORMAT, VERSION = "sliceflow table model", 1

LIBRARIES = ("sliceflow", "numpy", "scikit-learn")
"""Libraries whose versions are written to a file, for information only."""

WORDS = str | bool | int | float
"""What words of a column may be."""

LAYOUTS = {kind.__name__: kind for kind in (ArrayLayout, FrameLayout, TextLayout)}

NODES = ("column", "cut", "left", "right", "first", "size")
"""What a forest has for each of its nodes."""

Parts = tuple[Layout, tuple[Column, ...], Chain, int]
"""What a `TableModel` is made of."""


def write_table_model(path: Path, parts: Parts, about: str) -> None:
    """Write what a model is made of, and a card, to a file."""
    write(path, _parts(*parts, about))


def read_table_model(path: Path) -> Parts:
    """Read a model from a file, after verifying its checksums. Any problem is a `FileError`."""
    with opened(path, FORMAT, VERSION) as archive:
        config = archive.config
        columns = tuple(_column(archive, i, row) for i, row in enumerate(config["columns"]))
        links = tuple(_link(archive, i, row, columns) for i, row in enumerate(config["links"]))
        if sorted(link.column for link in links) != list(range(len(columns))):
            raise FileError("its maps are not those of its columns")
        archive.check_all_is_read()
        layout = LAYOUTS[config["layout"][0]](**config["layout"][1])
        _check_layout(layout, columns)
        return layout, columns, Chain(columns, links), check_integer("n_rows", config["n_rows"], 1)


def _check_layout(layout: Layout, columns: tuple[Column, ...]) -> None:
    """Refuse a layout that cannot hold one row of the columns."""
    if isinstance(layout, TextLayout) and layout.separator not in tuple(SEPARATORS):
        raise FileError("its values are separated by what no table is separated by")
    row = np.zeros(1)
    try:
        layout.restore({column.name: column.decode(row) for column in columns})
    except ImportError:
        return  # its library is not needed until rows are drawn
    except Exception as error:  # whatever a data frame's library says of dtypes that are made up
        raise FileError(f"its layout does not fit its columns ({error})") from error


def describe_table(path: Path) -> tuple[Config, str]:
    """Return the settings and the card of a model file, after verifying its checksums."""
    with opened(path, FORMAT, VERSION) as archive:
        return archive.config, archive.read(CARD).decode()


def _parts(
    layout: Any, columns: tuple[Column, ...], chain: Chain, n_rows: int, about: str
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each part of a file."""
    config = {
        "format": FORMAT,
        "version": VERSION,
        "n_rows": n_rows,
        "layout": [type(layout).__name__, asdict(layout)],
        "columns": [_column_config(column) for column in columns],
        "links": [_link_config(link) for link in chain.links],
        "libraries": {name: version(name) for name in LIBRARIES},
    }
    yield "config.json", as_json(config)
    for number, column in enumerate(columns):
        distinct = {} if column.dtype == object else {"distinct": column.values}
        yield _name("column", number), as_safetensors(counts=column.counts, **distinct)
    for number, link in enumerate(chain.links):
        yield _name("link", number), as_safetensors(**_link_arrays(link))
    yield CARD, _card(columns, n_rows, about).encode()


def _name(kind: str, number: int) -> str:
    return f"{kind}-{number:04}.safetensors"


def _column_config(column: Column) -> Config:
    words = column.values.tolist() if column.dtype == object else None
    if not all(isinstance(word, WORDS) for word in words or []):
        raise TypeError(f"{column.name} has words that are no text: a file cannot hold them")
    return {
        "name": column.name,
        "dtype": str(column.dtype),
        "is_ordered": column.is_ordered,
        "words": words,
    }


def _column(archive: Archive, number: int, row: Config) -> Column:
    name, words, dtype = str(row["name"]), row["words"], np.dtype(row["dtype"])
    if not all(isinstance(word, WORDS) for word in words or []):
        raise FileError(f"its column {name} has words that are no words")
    if dtype.kind not in ("ifmM" if words is None else "O"):
        raise FileError(f"its column {name} is neither words nor numbers")
    sizes: Sizes = dict.fromkeys(("counts", "distinct") if words is None else ("counts",), (None,))
    part = archive.arrays(_name("column", number), sizes)
    values = as_objects(words) if words is not None else part["distinct"]
    counts = part["counts"]
    ascends = words is not None or (np.diff(values) > 0).all()
    if not ascends or len(values) != len(counts) or not counts.sum() or (counts < 0).any():
        raise FileError(f"the values of its column {name} do not ascend, or have no counts")
    return Column(name, dtype, values, check_flag("is_ordered", row["is_ordered"]), counts)


def _link_config(link: Link) -> Config:
    sight = link.sight
    return {
        "column": link.column,
        "before": list(sight.columns),
        "are_words": list(sight.are_words),
        "is_smooth": link.is_smooth,
    }


def _link_arrays(link: Link) -> dict[str, np.ndarray]:
    forest = {name: getattr(link.forest, name) for name in (*NODES, "roots")}
    return forest | {
        "leaf_values": link.forest.values,
        "line": link.line,
        "places": np.concatenate([*link.sight.places, np.empty(0)]),
    }


def _link(archive: Archive, number: int, row: Config, columns: tuple[Column, ...]) -> Link:
    """Read the map of a column, if it fits the columns."""
    sizes: Sizes = dict.fromkeys((*NODES, "roots", "leaf_values", "places"), (None,))
    part = archive.arrays(_name("link", number), sizes | {"line": (None, None)})
    column, *before = (check_integer("column", i, 0) for i in (row["column"], *row["before"]))
    if not {column, *before} <= set(range(len(columns))) or len(row["are_words"]) != len(before):
        raise FileError("its maps name columns that there are not")
    counts = [len(columns[i].values) + 1 for i in before]
    if sum(counts) != len(part["places"]):
        raise FileError("the places of its words do not fit its columns")
    places = tuple(np.split(part["places"], np.cumsum(counts))[:-1])
    sight = Sight(
        tuple(before), places, tuple(check_flag("are_words", is_) for is_ in row["are_words"])
    )
    line, is_smooth = part["line"], check_flag("is_smooth", row["is_smooth"])
    if line.shape[0] != sight.n_features or not line.shape[1]:
        raise FileError("its lines do not fit its columns")
    forest = _forest(part, len(before) + line.shape[1])
    largest = len(columns[column].values) - 1
    if not is_smooth and ((forest.values > largest) | (forest.values < -1)).any():
        raise FileError("its leaves have values that there are not")
    return Link(column, sight, line, is_smooth, forest)


def _forest(part: dict[str, np.ndarray], n_columns: int) -> Forest:
    """Return the trees, if every path through them ends in a leaf with values."""
    nodes = {name: part[name] for name in NODES}
    roots, values, n = part["roots"], part["leaf_values"], len(nodes["cut"])
    if {len(array) for array in nodes.values()} != {n} or not len(roots):
        raise FileError("its trees do not have the same number of nodes everywhere")
    left, right, itself = nodes["left"], nodes["right"], np.arange(n)
    is_leaf = (left == itself) & (right == itself)
    goes_on = (left > itself) & (right > itself) & (left < n) & (right < n)
    first, size = nodes["first"].astype(int), nodes["size"].astype(int)
    is_full = (first >= 0) & (size > 0) & (first + size <= len(values))
    if not np.where(is_leaf, is_full, goes_on).all():
        raise FileError("its trees have paths that do not end in a leaf")
    inside = (roots >= 0) & (roots < n)
    if not inside.all() or ((nodes["column"] < 0) | (nodes["column"] >= n_columns)).any():
        raise FileError("its trees ask for columns that there are not")
    return Forest(roots=roots, values=values, **nodes)


def _card(columns: tuple[Column, ...], n_rows: int, about: str) -> str:
    """Return what describes the model to a person who finds its file."""
    rows = "\n".join(f"| {c.name} | {c.kind} | {len(c.values):,} |" for c in columns)
    return (
        f"# {about or 'A model of a table'}\n\n"
        f"Draws rows of a table, made from {n_rows:,} rows.\n\n"
        "    import sliceflow\n"
        "    rows = sliceflow.load(path).sample(100)  # path of this file\n\n"
        f"| column | values | distinct |\n|---|---|---|\n{rows}\n"
    )
