"""Checkpoints: the whole state of a flow as a file, every so many minutes and when asked to end.

A run that goes on from one gives the same bits as one that was never stopped: all else comes from
the data, the settings, the seed and this code, of which the file has a fingerprint.
"""

import math
import re
import signal
import threading
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Self

from torch import Tensor

from sliceflow._reading import FileError
from sliceflow.archive import Archive, as_json, as_tensors, opened, write
from sliceflow.course import Record, State
from sliceflow.flow import Flow
from sliceflow.io import read_record, record_parts

FORMAT, VERSION = "sliceflow checkpoint", 3

SIGNALS = (signal.SIGTERM, signal.SIGINT)

Swarms = dict[str, Tensor]
"""Swarms by the number of their shard."""

OFFLINE = "offline"
"""The name of the swarm that is no shard."""

KEPT = 2
"""How many are kept: the last one, and the one before it should that be damaged."""


class Checkpoints:
    """A callback of a flow that saves its state in a folder, which all processes share.

    While it is entered with ``with``, SIGTERM and Ctrl-C end the run only after the state is saved;
    a second Ctrl-C ends it at once.

    Each process writes a file with its shards. The first one writes its own when all others are
    there: a checkpoint that has it is whole. Any number of processes can go on from it.

    Parameters
    ----------
    flow, start
        What runs, and the state that it starts from.
    folder
        Where the files are. It is made if need be.
    minutes
        How long to wait between two.
    """

    def __init__(self, flow: Flow, start: State, folder: str | Path, minutes: float = 10) -> None:
        self._flow, self._start, self._group = flow, start, flow.group
        self._names = [*map(str, flow.group.own), OFFLINE]
        sums = zip(self._names, flow.fingerprints(), start.swarms, strict=False)
        self._sums = {v: f"{version('sliceflow')} {sum} {tuple(x.shape)}" for v, sum, x in sums}
        self._folder, self._seconds = Path(folder), 60 * minutes
        self._folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self._folder.glob("checkpoint-*.part"):
            unfinished.unlink(missing_ok=True)
        self._last, self._asked_by = monotonic(), 0

    def latest(self) -> State:
        """Return the last state that all processes can read or, if there is none, the start."""
        state, done = self._newest(), self._flow.steps_done
        while True:
            most, least = self._group.most(done(state), -done(state))
            if most == -least:
                return state
            state = self._newest(upto=-least)

    def _newest(self, upto: float = math.inf) -> State:
        """Return the last state, up to a step, that was saved and is whole, or the start."""
        for step in self._steps():
            if step <= upto:
                try:
                    return self._read(step)
                except FileError as error:
                    warnings.warn(f"{error}; looking for the one before it", stacklevel=3)
        return self._start

    def __call__(self, state: State) -> None:
        """Save the state if it is time or if a process is asked to end, which all then do."""
        has_waited = monotonic() - self._last >= self._seconds
        asked_by, is_time = self._group.most(self._asked_by, has_waited)
        if asked_by or is_time:
            self.save(state)
        if asked_by == signal.SIGINT:
            raise KeyboardInterrupt("the state is saved")
        if asked_by:
            raise SystemExit(128 + asked_by)

    def save(self, state: State) -> None:
        """Write a checkpoint and let go of old ones. If there is no room, warn and go on."""
        step, is_first = self._flow.steps_done(state), self._group.rank == 0
        (failed,) = self._group.most(not is_first and not self._write(step, state))
        if is_first and not failed and self._write(step, state):
            self._let_go_of_others(step)
        self._last = monotonic()

    def _write(self, step: int, state: State) -> bool:
        """Write the shards of this process, if there is room."""
        own = self._group.own
        shards = f".shards-{own[0]}-{own[-1]}" if self._group.rank else ""
        try:
            write(self._path(step, shards), self._parts(state))
        except OSError as error:
            warnings.warn(f"no checkpoint could be written: {error}", stacklevel=3)
            return False
        return True

    def _let_go_of_others(self, last: int) -> None:
        """Keep the last one and the one before it. What is ahead of it could not be used."""
        steps = self._steps()
        number = steps.index(last)
        for step in {*steps} - {*steps[number : number + KEPT]}:
            for path in self._folder.glob(self._path(step, "*").name):
                path.unlink(missing_ok=True)

    def _path(self, step: int, shards: str = "") -> Path:
        """Return the file of the first process, or of one with these shards."""
        return self._folder / f"checkpoint-{step:09}{shards}.zip"

    def _steps(self) -> list[int]:
        """Return the steps after which there is a whole checkpoint, the last one first."""
        paths = self._folder.glob(f"checkpoint-{'[0-9]' * 9}.zip")
        return sorted((int(path.stem.partition("-")[2]) for path in paths), reverse=True)

    def _parts(self, state: State) -> Iterator[tuple[str, bytes]]:
        # At full size a swarm is its own inner one: found again, not written twice.
        inner = [] if state.inner is None or state.inner[0] is state.swarms[0] else state.inner
        config = {
            "format": FORMAT,
            "version": VERSION,
            "sums": self._sums,
            "stage": state.stage,
            "step": state.step,
            "is_inner": len(inner) > 0,
        }
        yield "config.json", as_json(config)
        for kind, swarms in (("swarm", state.swarms), ("inner", inner)):
            for name, swarm in zip(self._names, swarms, strict=False):
                yield f"{kind}-{name}.safetensors", as_tensors(swarm=swarm)
        if state.record is not None:
            yield from record_parts(state.record, self._flow.schedule)

    def _read(self, step: int) -> State:
        """Return the state after a step, from the files that have our shards."""
        parts = [self._part(path) for path in self._files(step)]
        swarms = {name: x for _, swarms, _ in parts for name, x in swarms.items()}
        inner = {name: x for _, _, inner in parts for name, x in inner.items()}
        if missing := set(self._names) - set(swarms):
            raise FileError(f"{self._path(step)} and its like have no shards {sorted(missing)}")
        state, *_ = parts[-1]
        state.swarms = [swarms[name] for name in self._names]
        state.inner = [inner[name] for name in self._names] if inner else None
        return state

    def _part(self, path: Path) -> tuple[State, Swarms, Swarms]:
        """Return a state without its swarms, and the swarms of ours that a file has."""
        with opened(path, FORMAT, VERSION) as archive:
            config = archive.config
            own = [name for name in self._names if name in config["sums"]]
            if is_ours := all(config["sums"][name] == self._sums[name] for name in own):
                names = [*own, OFFLINE]
                swarms = self._swarms(archive, "swarm", names)
                inner = self._swarms(archive, "inner", names) if config["is_inner"] else {}
                state = State([], self._start.noise, int(config["stage"]), int(config["step"]))
                if self._start.record is not None and "0" in config["sums"]:
                    state.record = self._record(archive, state)
        if not is_ours:
            raise ValueError(
                f"{path} is of a fit with other data, other settings or another sliceflow: pass "
                "another folder, or delete what is in this one"
            )
        return state, swarms, inner

    def _swarms(self, archive: Archive, kind: str, names: list[str]) -> Swarms:
        """Read swarms, at full size or as large as their level."""
        start = dict(zip(self._names, self._start.swarms, strict=True))
        sizes = {n: (len(start[n]) if kind == "swarm" else None, start[n].shape[1]) for n in names}
        return {
            n: archive.tensors(f"{kind}-{n}.safetensors", {"swarm": size})["swarm"].to(start[n])
            for n, size in sizes.items()
        }

    def _record(self, archive: Archive, state: State) -> Record:
        flow, steps = self._flow, self._flow.steps_done(state)
        begun = flow.schedule[: state.stage + (state.step > 0)]
        return read_record(archive, begun, flow.engine, flow.shape, steps)

    def _files(self, step: int) -> Iterator[Path]:
        """Yield the files that have shards of ours."""
        missing = set(self._group.own)
        for path in self._folder.glob(self._path(step, ".shards-*").name):
            first, last = map(int, re.findall(r"\d+", path.name)[1:])
            if missing & set(range(first, last + 1)):
                missing -= set(range(first, last + 1))
                yield path
        if missing or self._group.rank == 0:
            yield self._path(step)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            heard = [s for s in SIGNALS if signal.getsignal(s) is not signal.SIG_IGN]
            self._handlers = {s: signal.signal(s, self._ask_to_end) for s in heard}
        return self

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def _ask_to_end(self, number: int, frame: FrameType | None) -> None:
        """Note it; if it is asked again, end at once."""
        if self._asked_by == number == signal.SIGINT:
            raise KeyboardInterrupt
        self._asked_by = number
