"""How much memory there is, and that nothing is begun that cannot fit in it."""

import os

import numpy as np
import pytest

from sliceflow import SlicedFlow
from sliceflow.core import _memory
from sliceflow.core._memory import check_memory, free_memory

DATA = np.random.default_rng(0).normal(size=(50, 2))


def test_free_memory_is_some_of_what_there_is():
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert whole / 100 < free_memory() < 100 * whole


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(_memory, "LIMITS", [tmp_path / "max", tmp_path / "none"])
    (tmp_path / "max").write_text("max\n")
    assert free_memory() > 2**20
    (tmp_path / "max").write_text("4096\n")
    assert free_memory() == 4096


def test_where_nobody_knows_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_memory, "LIMITS", [])
    monkeypatch.setattr(_memory, "SYSTEM", tmp_path / "none")
    assert free_memory() is None
    check_memory("n", 10**15, 10**3)


def test_the_error_has_the_size_and_what_would_fit(monkeypatch):
    monkeypatch.setattr(_memory, "free_memory", lambda: 10 * 2**30)
    check_memory("n", 10, 2**30)
    with pytest.raises(ValueError, match=r"n=11 needs at least 11 GiB .* 10 GiB .* pass n=10 or"):
        check_memory("n", 11, 2**30)


def test_a_fit_and_samples_that_cannot_fit_are_refused():
    with pytest.raises(ValueError, match=r"n_particles=10000000000000 needs .* TiB"):
        SlicedFlow(schedule=1, n_particles=10**13, random_state=0).plan(DATA)
    model = SlicedFlow(schedule=1, random_state=0).fit(DATA).model_
    with pytest.raises(ValueError, match=r"n=10000000000000 needs .* TiB"):
        model.sample(10**13)
