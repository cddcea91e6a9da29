"""Bad and odd uses: none may end in a traceback, a wrong answer, a hang, or a lost file.

Each use is a process of its own, in a folder of its own. It is bad if it

- ends in a traceback, or is refused in more than one line, or without naming what is wrong;
- is not refused though it should be, or the other way round, or gives a wrong answer;
- takes more than 10 seconds, or more than 1 GiB of memory;
- changes a file although it is refused, or writes outside its folder.
"""

import os
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

import sliceflow
from benchmarks.attacks import Case
from benchmarks.attacks.commands import COMMANDS
from benchmarks.attacks.laboratory import OUTSIDE, make
from benchmarks.attacks.library import LIBRARY
from benchmarks.ledger import Figure
from sliceflow.__main__ import main

SECONDS, BYTES = 10, 2**30
AT_ONCE = 2
REFUSALS = (ValueError, TypeError, OSError, ImportError, FloatingPointError)
WORKED, REFUSED, WRONG = 0, 1, 99
"""Exit codes: of a wrong use, the command line has 2."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how many uses were tried, and how many were bad."""
    cases = [*COMMANDS, *LIBRARY][:: 1 if shrink == 1 else 10]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "laboratory", folder / OUTSIDE)
        warm_up()
        bad = 0
        for case, complaint in attempted(cases, folder):
            if complaint:
                bad += 1
                last_line = case.use.rpartition("\n")[2]
                print(f"  {last_line}\n    {complaint}")
    yield Figure("red_team.tried", len(cases), "", "bad and odd uses, each with what is expected")
    yield Figure("red_team.bad", bad, "", "of them were bad")


def warm_up() -> None:
    """Load what all uses need: processes that are forked have it."""
    torch.set_num_threads(1)  # threads do not survive a fork
    sliceflow.SlicedFlow(schedule=1, random_state=0).fit(
        np.random.default_rng(0).normal(size=(9, 2))
    )


def attempted(cases: list[Case], folder: Path) -> Iterator[tuple[Case, str]]:
    """Try each case, some at once; yield it with what is wrong, if anything."""
    waiting, running = list(enumerate(cases)), list[Attempt]()
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            number, case = waiting.pop(0)
            running.append(Attempt(case, folder, folder / "attempts" / str(number)))
        for attempt in [attempt for attempt in running if attempt.has_ended()]:
            running.remove(attempt)
            yield attempt.case, attempt.complaint()
            shutil.rmtree(attempt.place)
        time.sleep(0.002)


@dataclass
class Attempt:
    """A use that was started."""

    case: Case
    folder: Path
    place: Path
    _code: int = 0
    _memory: int = 0
    _is_hanging: bool = False
    _started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        shutil.copytree(self.folder / "laboratory", self.place, symlinks=True, copy_function=copy)
        self._before = snapshot(self.place)
        self._outside = snapshot(self.folder / OUTSIDE)
        self._pid = os.fork()
        if not self._pid:
            use(self.case, self.place)

    def has_ended(self) -> bool:
        """Whether it has, if only because it took too long."""
        if time.perf_counter() - self._started > SECONDS:
            self._is_hanging = True
            os.killpg(self._pid, signal.SIGKILL)
            os.wait4(self._pid, 0)
            return True
        pid, status, used = os.wait4(self._pid, os.WNOHANG)
        if pid:
            self._code, self._memory = os.waitstatus_to_exitcode(status), 1024 * used.ru_maxrss
        return pid != 0

    def complaint(self) -> str:
        """Return what is wrong with how it ended, if anything."""
        told = (self.place / "stderr.txt").read_text(errors="replace")
        lines = [line for line in told.splitlines() if not line.startswith("warning: ")]
        is_refused, last = self._code in (REFUSED, 2), lines[-1] if lines else ""
        changed = [
            str(path) for path, state in self._before.items() if snapshot(path).get(path) != state
        ]
        complaints = {
            "hangs": self._is_hanging,
            f"takes {self._memory / 2**30:.2f} GiB": self._memory > BYTES,
            f"ends in a traceback: {last}": "Traceback" in told,
            f"ends with code {self._code}: {last}": self._code not in (WORKED, REFUSED, 2),
            f"is not refused with {self.case.refusal!r}": self.case.refusal and not is_refused,
            f"is refused: {last}": is_refused and not self.case.refusal,
            f"is refused in {len(lines)} lines: {told}": is_refused and len(lines) != 1,
            f"does not say {self.case.refusal!r}: {last}": is_refused
            and not re.search(self.case.refusal, last),
            f"does not warn {self.case.warning!r}": not re.search(self.case.warning, told),
            f"changes {changed}": is_refused and changed,
            "writes outside its folder": snapshot(self.folder / OUTSIDE) != self._outside,
        }
        return "; ".join(about for about, is_so in complaints.items() if is_so)


def copy(source: str, target: str) -> None:
    """Copy a file; of what is none, such as a fifo, make another."""
    if os.path.isfile(source):
        shutil.copy2(source, target)
    else:
        os.mkfifo(target)


def snapshot(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return the size and the time of every file, by its path."""
    paths = folder.rglob("*") if folder.is_dir() else [folder]
    found = [(path, path.lstat()) for path in paths if not path.is_dir() and path.exists()]
    return {path: (state.st_size, state.st_mtime_ns) for path, state in found}


def use(case: Case, place: Path) -> None:
    """Be the process of a case, and end."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(place)
    os.environ |= {"HOME": str(place / "home"), "SLICEFLOW_DATA": str(place / "data")}
    with Path("stdout.txt").open("w") as out, Path("stderr.txt").open("w") as err:
        for number, file in ((1, out), (2, err)):
            os.dup2(file.fileno(), number)
        with redirect_stdout(out), redirect_stderr(err):
            code = worked_in_python(case) if case.is_python else worked_in_the_shell(case)
            sys.stderr.flush()
            sys.stdout.flush()
    os._exit(code)


def worked_in_python(case: Case) -> int:
    """Run code; return the exit code."""
    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    try:
        exec(case.use, names())
    except AssertionError:
        traceback.print_exc()
        return WRONG
    except REFUSALS as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return REFUSED
    except BaseException:
        traceback.print_exc()
        return WRONG
    return WORKED


def worked_in_the_shell(case: Case) -> int:
    """Run a command, then what checks it; return the exit code."""
    sys.argv = ["sliceflow", *shlex.split(case.use)]
    try:
        main()
    except SystemExit as end:
        if end.code not in (None, 0):
            return end.code if isinstance(end.code, int) else REFUSED
    except BaseException:
        traceback.print_exc()
        return WRONG
    try:
        exec(case.then, names())
    except BaseException:
        traceback.print_exc()
        return WRONG
    return WORKED


def names() -> dict:
    """Return what code may use."""
    import pandas as pd

    return {"np": np, "torch": torch, "pd": pd, "Path": Path, **vars(sliceflow)} | {
        name: getattr(sliceflow, name) for name in sliceflow.__all__
    }
