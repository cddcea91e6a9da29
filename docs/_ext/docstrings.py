"""Corrects docstrings and signatures that Sphinx would show wrongly or in needless detail."""

import re
from typing import Any

from sphinx.application import Sphinx

ENUMERATOR = re.compile(r"^(\s*(?:[A-Za-z]|\d+|[ivxlcdm]+))(?=[.)] )")
"""What reStructuredText reads as a list item, as in "M. By default ..."."""


def keep_symbols(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Keep a symbol that ends a sentence at the start of a line from becoming a list item."""
    lines[:] = [ENUMERATOR.sub(r"\1\\", line) for line in lines]


def name_classes(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, result: Any
) -> tuple[str | None, Any]:
    """Write a default that is a class as its name, and an object without a repr as a call."""
    if signature is None:
        return None, result
    signature = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", signature)
    return re.sub(r"<(?:\w+\.)*(\w+) object[^>]*>", r"\1()", signature), result


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out constants, and fields of named tuples that have only Python's default docstring."""
    is_alias = str(getattr(obj, "__doc__", "")).startswith("Alias for field number")
    return True if name.isupper() or is_alias else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, to run before napoleon makes field lists."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", keep_symbols, priority=400)
    app.connect("autodoc-process-signature", name_classes)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
