"""Files are written whole or not at all."""

import errno
import os
import stat

import numpy as np
import pytest
from PIL import Image

from sliceflow import viz
from sliceflow.core._atomic import replacing, write_text
from sliceflow.data._tables import save_csv
from sliceflow.runs._run import Run

OLD = b"what was there before"


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "file.txt"
    path.write_bytes(OLD)
    return path


def test_a_file_is_there_when_all_of_it_is(old):
    with replacing(old) as file:
        file.write(b"new")
        assert old.read_bytes() == OLD
    assert old.read_bytes() == b"new"
    assert list(old.parent.iterdir()) == [old]


@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt, MemoryError])
def test_an_error_leaves_what_was_there(old, kind):
    def write():
        with replacing(old) as file:
            file.write(b"new")
            raise kind

    with pytest.raises(kind):
        write()
    assert old.read_bytes() == OLD
    assert list(old.parent.iterdir()) == [old]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_so_does_a_disk_that_fails(old, call, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match=r"No space.*file\.txt"):
        write_text(old, "new")
    assert old.read_bytes() == OLD
    assert list(old.parent.iterdir()) == [old]


def test_the_error_names_the_file_and_not_the_temporary_one(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        write_text(tmp_path / "none" / "file.txt", "new")
    assert error.value.filename == str(tmp_path / "none" / "file.txt")


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_permissions_are_those_that_open_gives(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "ours", "")
        (tmp_path / "theirs").write_text("")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "ours") == mode_of(tmp_path / "theirs")


def test_permissions_of_a_file_stay(old):
    old.chmod(0o640)
    write_text(old, "new")
    assert mode_of(old) == 0o640


def test_a_link_stays_one(old):
    link = old.with_name("link")
    link.symlink_to(old)
    write_text(link, "new")
    assert link.is_symlink()
    assert old.read_text() == "new"


def test_a_name_may_be_as_long_as_names_are(tmp_path):
    write_text(tmp_path / ("n" * 251 + ".txt"), "new")
    assert len(list(tmp_path.iterdir())) == 1


def _table(path):
    save_csv(path, ["x"], [np.arange(3)])


def _picture(path):
    viz.save_picture(Image.new("L", (4, 4)), path)


def _film(path):
    viz.save_film([Image.new("L", (4, 4))] * 2, path)


def _metrics(path):
    Run(path.parent).repair_metrics()


@pytest.mark.parametrize(
    ("name", "write"),
    [("x.csv", _table), ("x.png", _picture), ("x.gif", _film), ("metrics.jsonl", _metrics)],
)
def test_whatever_is_written_is_whole_or_not_there(tmp_path, name, write, monkeypatch):
    path = tmp_path / name
    path.write_bytes(OLD)

    def fail(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            write(path)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]
    write(path)
    assert path.read_bytes() != OLD
