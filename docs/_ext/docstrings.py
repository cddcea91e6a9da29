"""What Sphinx would show wrongly of docstrings and signatures, or what no reader needs."""

import re
from typing import Any

from sphinx.application import Sphinx

ENUMERATOR = re.compile(r"^(\s*(?:[A-Za-z]|\d+|[ivxlcdm]+))(?=[.)] )")
"""What reStructuredText takes for an item of a list, as in "M. By default ..."."""


def keep_symbols(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Have a symbol that begins a sentence stay a symbol."""
    lines[:] = [ENUMERATOR.sub(r"\1\\", line) for line in lines]


def name_classes(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, result: Any
) -> tuple[str | None, Any]:
    """Write a default that is a class as its name."""
    return signature and re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", signature), result


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out constants, and fields of a tuple with nothing but Python's own words."""
    is_alias = str(getattr(obj, "__doc__", "")).startswith("Alias for field number")
    return True if name.isupper() or is_alias else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx, before napoleon makes lists of fields."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", keep_symbols, priority=400)
    app.connect("autodoc-process-signature", name_classes)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
