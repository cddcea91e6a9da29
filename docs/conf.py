"""How the documentation is built: `sphinx-build -W docs docs/_build`."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "sliceflow"
author = "The sliceflow developers"
version = release = installed("sliceflow")

extensions = [
    "commands",
    "docstrings",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "sliceflow"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_attr_annotations = False  # it would write types in full, beside those of autodoc
default_role = "py:obj"  # so that `fit` in a docstring is a link

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tables", "../examples/concepts"],
    "gallery_dirs": ["tables", "concepts"],
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
}
