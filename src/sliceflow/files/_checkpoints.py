"""Checkpoints: the whole state of a flow in files, saved every few minutes and on signals.

A resumed run gives the same bits as one that was never stopped. Everything else follows from the
data, the settings, the seed and this code, and a checkpoint has a fingerprint of these.
"""

import math
import re
import signal
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Self

from torch import Tensor

from sliceflow.core._reading import FileError, VersionError
from sliceflow.core._warnings import warn_user
from sliceflow.files._archive import Archive, Sizes, as_json, opened, write
from sliceflow.files._models import read_record, record_parts
from sliceflow.files._tensors import as_tensors, tensors_of
from sliceflow.flow._flow import Flow
from sliceflow.flow._state import Record, State

FORMAT, VERSION = "sliceflow checkpoint", 4

SIGNALS = (signal.SIGTERM, signal.SIGINT)

Shards = dict[str, Tensor]
"""Particles by shard number."""

KEPT_CHECKPOINTS = 2
"""Number of checkpoints to keep: the last, and the one before in case the last is damaged."""


class Checkpoints:
    """A callback that saves the state of a flow in a folder, which all processes share.

    Inside a ``with`` block, SIGTERM and Ctrl-C end the run only after the state is saved; a second
    Ctrl-C ends it at once.

    Each process writes a file with its shards. The first process writes its file after all others,
    so a checkpoint with this file is complete. Any number of processes can resume from it.

    Parameters
    ----------
    flow, start
        The flow, and its initial state.
    folder
        Folder of the files; it is created if necessary.
    minutes
        Minutes between two checkpoints.
    """

    def __init__(self, flow: Flow, start: State, folder: str | Path, minutes: float = 10) -> None:
        self._flow, self._start, self._group = flow, start, flow.group
        self._names = [str(number) for number in flow.group.own]
        sums = zip(self._names, flow.fingerprints(), start.shards, strict=True)
        self._sums = {v: f"{version('sliceflow')} {sum} {tuple(x.shape)}" for v, sum, x in sums}
        self._folder, self._seconds = Path(folder), 60 * minutes
        self._folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self._folder.glob("checkpoint-*.part"):
            unfinished.unlink(missing_ok=True)
        self._last, self._signal = monotonic(), 0

    def latest(self) -> State:
        """Return the last state that all processes can read, or else the initial state."""
        state, done = self._newest(), self._flow.steps_done
        while True:
            last, minus_first = self._group.all_max(done(state), -done(state))
            if last == -minus_first:
                return state
            state = self._newest(upto=-minus_first)

    def _newest(self, upto: float = math.inf) -> State:
        """Return the last state up to this step that can be read, or else the initial state."""
        for step in self._steps():
            if step <= upto:
                try:
                    return self._read(step)
                except VersionError:
                    raise
                except FileError as error:  # a damaged file
                    warn_user(f"{error}; trying the checkpoint before it")
        return self._start

    def __call__(self, state: State) -> None:
        """Save the state if it is due. If any process got a signal, save it and end all."""
        has_waited = monotonic() - self._last >= self._seconds
        signalled, is_time = self._group.all_max(self._signal, has_waited)
        if signalled or is_time:
            self.save(state)
        if signalled == signal.SIGINT:
            raise KeyboardInterrupt("the state is saved")
        if signalled:
            raise SystemExit(128 + signalled)

    def save(self, state: State) -> None:
        """Write a checkpoint and delete old ones. If it cannot be written, warn and go on."""
        step, is_first = self._flow.steps_done(state), self._group.rank == 0
        (failed,) = self._group.all_max(not is_first and not self._write(step, state))
        if is_first and not failed and self._write(step, state):
            self._delete_others(step)
        self._last = monotonic()

    def _write(self, step: int, state: State) -> bool:
        """Write the shards of this process, and return whether they could be written."""
        own = self._group.own
        shards = f".shards-{own[0]}-{own[-1]}" if self._group.rank else ""
        try:
            write(self._path(step, shards), self._parts(state))
        except OSError as error:
            warn_user(f"no checkpoint could be written: {error}")
            return False
        return True

    def _delete_others(self, last: int) -> None:
        """Delete all but the last one and the one before it. Later ones could not be read."""
        steps = self._steps()
        number = steps.index(last)
        for step in {*steps} - {*steps[number : number + KEPT_CHECKPOINTS]}:
            for path in self._folder.glob(self._path(step, "*").name):
                path.unlink(missing_ok=True)

    def _path(self, step: int, shards: str = "") -> Path:
        """Return the file of the first process, or of one with these shards."""
        return self._folder / f"checkpoint-{step:09}{shards}.zip"

    def _steps(self) -> list[int]:
        """Return the steps of complete checkpoints, the last one first."""
        paths = self._folder.glob(f"checkpoint-{'[0-9]' * 9}.zip")
        return sorted((int(path.stem.partition("-")[2]) for path in paths), reverse=True)

    def _parts(self, state: State) -> Iterator[tuple[str, bytes]]:
        # At full size, the coordinates are the shards themselves: do not write them twice.
        coordinates = state.coordinates or []
        if coordinates and coordinates[0] is state.shards[0]:
            coordinates = []
        config = {
            "format": FORMAT,
            "version": VERSION,
            "sums": self._sums,
            "stage": state.stage,
            "step": state.step,
            "has_coordinates": len(coordinates) > 0,
        }
        yield "config.json", as_json(config)
        for kind, shards in (("shard", state.shards), ("coordinates", coordinates)):
            for name, shard in zip(self._names, shards, strict=False):
                yield f"{kind}-{name}.safetensors", as_tensors(particles=shard)
        if state.record is not None:
            yield from record_parts(state.record, self._flow.spec.schedule)

    def _read(self, step: int) -> State:
        """Return the state after a step, from the files that have shards of this process."""
        parts = [self._part(path) for path in self._files(step)]
        shards = {name: x for _, shards, _ in parts for name, x in shards.items()}
        coordinates = {name: x for _, _, coordinates in parts for name, x in coordinates.items()}
        if missing := set(self._names) - set(shards):
            raise FileError(f"the files of {self._path(step)} lack the shards {sorted(missing)}")
        state, *_ = parts[-1]
        state.shards = [shards[name] for name in self._names]
        state.coordinates = [coordinates[name] for name in self._names] if coordinates else None
        return state

    def _part(self, path: Path) -> tuple[State, Shards, Shards]:
        """Return a state without particles, and the shards of this process that a file has."""
        with opened(path, FORMAT, VERSION) as archive:
            config = archive.config
            own = [name for name in self._names if name in config["sums"]]
            if is_ours := all(config["sums"][name] == self._sums[name] for name in own):
                shards = self._shards(archive, "shard", own)
                at_level = config["has_coordinates"]
                coordinates = self._shards(archive, "coordinates", own) if at_level else {}
                state = State([], self._start.noise, int(config["stage"]), int(config["step"]))
                if self._start.record is not None and "0" in config["sums"]:
                    state.record = self._record(archive, state)
        if not is_ours:
            raise ValueError(
                f"{path} is of a fit with other data, other settings or another version of "
                "sliceflow: pass another folder, or delete the files in this one"
            )
        return state, shards, coordinates

    def _shards(self, archive: Archive, kind: str, names: list[str]) -> Shards:
        """Read particles, at full size or in the coordinates of a level."""
        start = dict(zip(self._names, self._start.shards, strict=True))
        shards = {}
        for name in names:
            d, m = start[name].shape
            size: Sizes = {"particles": (d if kind == "shard" else None, m)}
            tensors = tensors_of(archive, f"{kind}-{name}.safetensors", size)
            shards[name] = tensors["particles"].to(start[name])
        return shards

    def _record(self, archive: Archive, state: State) -> Record:
        spec, steps = self._flow.spec, self._flow.steps_done(state)
        begun = spec.schedule[: state.stage + (state.step > 0)]
        return read_record(archive, spec, begun, steps)

    def _files(self, step: int) -> Iterator[Path]:
        """Yield the files that have shards of this process."""
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
            self._handlers = {s: signal.signal(s, self._note_signal) for s in heard}
        return self

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        """Remember the signal; a second Ctrl-C ends the run at once."""
        if self._signal == number == signal.SIGINT:
            raise KeyboardInterrupt
        self._signal = number
