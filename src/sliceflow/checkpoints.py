"""Checkpoints: the whole state of a flow as a file, every so many minutes and when asked to end.

A run that goes on from one gives the same bits as one that was never stopped: all else comes from
the data, the settings, the seed and this code, of which the file has a fingerprint.
"""

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

from sliceflow.archive import Archive, FileError, as_json, as_tensors, opened, write
from sliceflow.course import State
from sliceflow.flow import Flow
from sliceflow.io import read_record, record_parts

FORMAT, VERSION = "sliceflow checkpoint", 1

SIGNALS = (signal.SIGTERM, signal.SIGINT)

KEPT = 2
"""How many are kept: the last one, and the one before it should that be damaged."""


class Checkpoints:
    """A callback of a flow that saves its state in a folder.

    While it is entered with ``with``, SIGTERM and Ctrl-C end the run only after the state is saved;
    a second Ctrl-C ends it at once.

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
        self._flow, self._start = flow, start
        self._sizes = [tuple(x.shape) for x in start.swarms]
        self._fingerprint = f"{version('sliceflow')} {flow.fingerprints()} {self._sizes}"
        self._folder, self._seconds = Path(folder), 60 * minutes
        self._folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self._folder.glob("checkpoint-*.part"):
            unfinished.unlink()
        self._last, self._asked_by = monotonic(), 0

    def latest(self) -> State:
        """Return the last state that was saved and is whole or, if there is none, the start."""
        for path in self._paths():
            try:
                with opened(path, FORMAT, VERSION) as archive:
                    if archive.config["fingerprint"] == self._fingerprint:
                        return self._state(archive)
            except FileError as error:
                warnings.warn(f"{error}; looking for the one before it", stacklevel=2)
                continue
            raise ValueError(
                f"{path} is of a fit with other data, other settings or another sliceflow: pass "
                "another folder, or delete what is in this one"
            )
        return self._start

    def __call__(self, state: State) -> None:
        """Save the state if it is time or if the process is asked to end, which it then does."""
        if self._asked_by or monotonic() - self._last >= self._seconds:
            self.save(state)
        if self._asked_by == signal.SIGINT:
            raise KeyboardInterrupt("the state is saved")
        if self._asked_by:
            raise SystemExit(128 + self._asked_by)

    def save(self, state: State) -> None:
        """Write a checkpoint and let go of old ones. If there is no room, warn and go on."""
        path = self._folder / f"checkpoint-{self._flow.steps_done(state):09}.zip"
        try:
            write(path, self._parts(state))
        except OSError as error:
            warnings.warn(f"no checkpoint could be written: {error}", stacklevel=2)
        else:
            self._let_go_of_others(path)
        self._last = monotonic()

    def _let_go_of_others(self, last: Path) -> None:
        """Keep the last one and the one before it. What is ahead of it could not be used."""
        paths = self._paths()
        number = paths.index(last)
        for path in paths[:number] + paths[number + KEPT :]:
            path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        """Return the files, the last one first."""
        return sorted(self._folder.glob("checkpoint-*.zip"), reverse=True)

    def _parts(self, state: State) -> Iterator[tuple[str, bytes]]:
        # At full size a swarm is its own inner one: found again, not written twice.
        inner = [] if state.inner is None or state.inner[0] is state.swarms[0] else state.inner
        config = {
            "format": FORMAT,
            "version": VERSION,
            "fingerprint": self._fingerprint,
            "stage": state.stage,
            "step": state.step,
            "is_inner": len(inner) > 0,
        }
        yield "config.json", as_json(config)
        for kind, swarms in (("swarm", state.swarms), ("inner", inner)):
            for number, swarm in enumerate(swarms):
                yield f"{kind}-{number}.safetensors", as_tensors(swarm=swarm)
        if state.record is not None:
            yield from record_parts(state.record, self._flow.schedule)

    def _state(self, archive: Archive) -> State:
        stage, step = archive.config["stage"], archive.config["step"]
        swarms = self._swarms(archive, "swarm", in_full=True)
        state = State(swarms, self._start.noise, int(stage), int(step))
        if archive.config["is_inner"]:
            state.inner = self._swarms(archive, "inner", in_full=False)
        if self._start.record is not None:
            flow, steps = self._flow, self._flow.steps_done(state)
            begun = flow.schedule[: state.stage + (state.step > 0)]
            state.record = read_record(archive, begun, flow.engine, flow.shape, steps)
        archive.check_all_is_read()
        return state

    def _swarms(self, archive: Archive, kind: str, in_full: bool) -> list[Tensor]:
        """Read a swarm for each of the start's, at full size or as large as its level."""
        sizes = [(d if in_full else None, m) for d, m in self._sizes]
        parts = (f"{kind}-{number}.safetensors" for number in range(len(sizes)))
        return [
            archive.tensors(part, {"swarm": size})["swarm"].to(self._start.swarms[0])
            for part, size in zip(parts, sizes, strict=True)
        ]

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._handlers = {s: signal.signal(s, self._ask_to_end) for s in SIGNALS}
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
