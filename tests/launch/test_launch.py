"""What a process of a launch leaves of its error, and what the launcher makes of it."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sliceflow.core import _exits
from sliceflow.launch import _worker
from sliceflow.launch._launcher import MAX_FAILURES, Attempts, RepeatedError
from sliceflow.launch._worker import Failure

SCRIPT = """
import sys
{line}
"""


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """Return a function that runs a script, and returns its exit code and what it left."""
    path, script = tmp_path / "error.json", tmp_path / "script.py"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    monkeypatch.setattr(_exits, "_prints", True)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(line):
        script.write_text(SCRIPT.format(line=line))
        with pytest.raises(SystemExit) as end:
            _worker.main([str(script), "one", "two"])
        return end.value.code, Failure.read(str(path))

    return run


def test_an_error_is_left_with_its_traceback(ended, capsys):
    code, failure = ended("raise ValueError(sys.argv[1:])")
    assert code == failure.code == 1
    first, place, *_, last = failure.message.splitlines()
    assert first.startswith("Traceback")
    assert "script.py" in place  # and not a file of ours
    assert last == "ValueError: ['one', 'two']"
    assert capsys.readouterr() == ("", "")


def test_a_command_leaves_its_line(ended, capsys):
    code, failure = ended("from sliceflow.cli import main; main(['info', 'nowhere'])")
    assert code == failure.code == 1
    assert failure.message.startswith("sliceflow info: ")
    assert len(failure.message.splitlines()) == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("sys.exit('no data: fetch it')", 1, "no data: fetch it"),
        ("sys.exit(3)", 3, "a process exited with code 3"),
        ("sys.exit(0)", 0, None),
        ("raise KeyboardInterrupt", 130, None),
    ],
)
def test_exit_codes(ended, line, code, message):
    found, failure = ended(line)
    assert (found, failure and failure.message) == (code, message)


LOST = [
    "raise RuntimeError('[gloo/transport/tcp/pair.cc:553] Connection closed by peer')",
    "from torch.distributed import DistNetworkError; raise DistNetworkError('reset by peer')",
    "try:\n    raise RuntimeError('gloo')\nexcept RuntimeError:\n    print(unknown)",
]


@pytest.mark.parametrize("line", LOST)
def test_a_lost_connection_and_what_follows_from_it_is_not_kept(ended, line):
    assert ended(line) == (1, None)


class Attempted:
    """A launch, attempt by attempt."""

    def __init__(self, folder):
        self.files = [str(folder / f"{rank}.json") for rank in range(3)]
        files = SimpleNamespace(error_files=dict(enumerate(self.files)))
        self.attempts = Attempts(SimpleNamespace(reify=lambda envs: files))
        self.begin()

    def begin(self):
        self.attempts.reify({})
        for path in self.files:
            Path(path).unlink(missing_ok=True)

    def fail(self, monkeypatch, *failures):
        for path, failure in zip(self.files, failures, strict=False):
            monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", path)
            failure.write()
        self.begin()


HERE, THERE = (Failure("why", place, 1, 0.0) for place in ("here", "there"))
WRONG = Failure("usage", "here", 2, 0.0)
INTERRUPTED = Failure("interrupted", "here", 130, 0.0)


@pytest.fixture
def attempted(tmp_path):
    return Attempted(tmp_path)


def test_an_error_that_repeats_ends_a_launch(attempted, monkeypatch):
    for _ in range(MAX_FAILURES - 1):
        attempted.fail(monkeypatch, THERE, HERE)
    with pytest.raises(RepeatedError) as error:
        attempted.fail(monkeypatch, HERE)
    assert error.value.failure == HERE


@pytest.mark.parametrize("between", [(), (THERE,), (INTERRUPTED,)])
def test_other_ends_do_not_count(attempted, monkeypatch, between):
    """A process that is killed leaves nothing."""
    for _ in range(4):
        for _ in range(MAX_FAILURES - 1):
            attempted.fail(monkeypatch, HERE)
        attempted.fail(monkeypatch, *between)


def test_kills_and_interruptions_may_go_on(attempted, monkeypatch, capsys):
    for _ in range(10):
        attempted.fail(monkeypatch)
        attempted.fail(monkeypatch, INTERRUPTED)
    assert "was killed" in capsys.readouterr().err


def test_a_wrong_use_ends_it_at_once(attempted, monkeypatch):
    with pytest.raises(RepeatedError, match="usage"):
        attempted.fail(monkeypatch, WRONG)
