"""The paper's figures and tables: those that need no data show what they should."""

from dataclasses import fields
from typing import get_args

import pytest

from sliceflow.cli._options import Reproduce
from sliceflow.reproduce import REPRODUCTIONS


@pytest.mark.slow
def test_a_larger_amplifier_comes_nearer_to_the_ideal_flows(tmp_path):
    figures = {figure.name: figure.value for figure in REPRODUCTIONS["figure-2d"](tmp_path, 4)}
    assert (tmp_path / "illustrations.png").stat().st_size > 50_000
    for kind in ("rms", "sliced"):
        values = [figures[f"illustrations.{kind}.xi{xi}"] for xi in (1, 2, 5, 10)]
        assert values == sorted(values, reverse=True)


def test_every_name_is_a_choice():
    choices = {field.name: field.type for field in fields(Reproduce)}["name"]
    assert list(get_args(choices)) == list(REPRODUCTIONS)
