"""How samples of a table compare with data, as a page with pictures."""

from pathlib import Path

from sliceflow.runs._page import write_page
from sliceflow.tables._compare import Comparison


def write_table_report(path: Path, title: str, found: Comparison, repeat: str = "") -> None:
    """Write the page of a comparison, and the command that repeats the run, if it is of one."""
    names = [histogram.name for histogram in found.histograms]
    write_page(path, "table_report.html", title=title, c=found, names=names, repeat=repeat)
