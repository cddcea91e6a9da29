"""HTML from a template in this folder. Values come from data and files, so all are escaped."""

from typing import Any

from jinja2 import Environment, PackageLoader


def rendered(template: str, **values: Any) -> str:
    """Return a template with these values, escaped."""
    loader = PackageLoader("sliceflow.notebook", ".")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(template).render(values)
