"""What columns are: found, or given by the user; and their values as codes."""

from collections.abc import Mapping, Sequence

import numpy as np

from sliceflow.core._warnings import warn_user
from sliceflow.tables._columns import Column
from sliceflow.tables._raw import Raw, Type


def typed(raws: Sequence[Raw], types: Mapping[str, Type] | None, n_all: int) -> list[Raw]:
    """Return the columns, of the given types, without ids and empty columns.

    Their rows may be some of n_all.
    """
    types = dict(types or {})
    if unknown := set(types) - {raw.name for raw in raws}:
        raise ValueError(f"types names a column {unknown.pop()!r}, which the table has not")
    kept = [_typed(raw, types.get(raw.name), n_all) for raw in raws]
    found = [raw for raw in kept if raw is not None]
    if not found:
        raise ValueError("no column is left to draw: pass types to keep some")
    return found


def _typed(raw: Raw, given: Type | None, n_all: int) -> Raw | None:
    """Return a column of its type; None if it is left out."""
    if raw.gaps.all():
        warn_user(f"{raw.name} has no values: it is left out")
        return None
    if given is None and raw.is_id(n_all):
        warn_user(
            f"{raw.name or 'a column without a name'} has another value in nearly every row: it is "
            'left out. Give its type, "words" or "numbers", to draw it'
        )
        return None
    if given is None:
        return raw
    return None if given == "id" else raw.as_type(given)


def encoded(raws: Sequence[Raw], columns: Sequence[Column]) -> np.ndarray:
    """Return the codes of all rows, (n, d)."""
    return np.stack([raw.codes(c) for raw, c in zip(raws, columns, strict=True)], axis=1)
