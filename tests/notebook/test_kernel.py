"""In a notebook's own kernel: pictures are displayed, and progress, with ipywidgets or without."""

import nbformat
import pytest
from nbclient import NotebookClient

HIDE = "import sys; sys.modules['ipywidgets'] = None"
SETUP = """
import warnings
warnings.simplefilter("error")
import numpy as np
from sliceflow import SlicedFlow, Stage
x = np.random.default_rng(0).integers(256, size=(40, 1, 4, 4), dtype=np.uint8)
"""
FIT = "SlicedFlow(schedule=(Stage(20, 4),), random_state=0).fit(x, verbose=True)"
SHOW = "_.show(4, random_state=0)"


@pytest.fixture(scope="module", params=["with", "without"])
def outputs(request):
    """Run a notebook; return whether it has ipywidgets, and what its cells display."""
    sources = ["" if request.param == "with" else HIDE, SETUP, FIT, SHOW]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    NotebookClient(book, timeout=300, kernel_name="python3").execute()
    return request.param == "with", [cell.outputs for cell in book.cells]


def test_a_fit_is_displayed(outputs):
    _, (_, nothing, fit, _) = outputs
    assert not nothing
    (result,) = [output for output in fit if output.output_type == "execute_result"]
    assert "data:image/png;base64," in result.data["text/html"]
    assert result.data["text/plain"].startswith("SlicedFlow(")


def test_samples_are_displayed_as_a_picture(outputs):
    _, (*_, show) = outputs
    assert "image/png" in show[-1].data


def test_progress_is_a_widget_or_text(outputs):
    has_widgets, (_, _, fit, _) = outputs
    widgets = [o for o in fit if "application/vnd.jupyter.widget-view+json" in o.get("data", {})]
    text = "".join(output.text for output in fit if output.get("name") == "stderr")
    assert bool(widgets) == has_widgets
    assert ("20/20" in text) != has_widgets
    assert "IProgress" not in text
