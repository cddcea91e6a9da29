"""A run: a folder that a person can look at while a flow runs, and after it.

config.yaml      what was asked for: `sliceflow fit --config` does it again
metrics.jsonl    a line for each stage: its time, and the distance of particles to the data
stages/          pictures of the same particles after each stage
film.gif         these pictures as a film
checkpoints/     where to go on from
model.zip        the model
samples.png      samples of the model, or samples.csv
report.html      all of this as one page
tensorboard/     all of this for TensorBoard, if it was asked for
"""

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from sliceflow._atomic import write_text
from sliceflow._random import Draw, Random
from sliceflow._reading import FileError, check_file
from sliceflow._settings import read_settings
from sliceflow.board import Board
from sliceflow.data.folders import read_image
from sliceflow.loop import State
from sliceflow.metrics import sliced_wasserstein
from sliceflow.plan import Plan
from sliceflow.viz import draw, grid, named_rows, save_film, save_picture

SHOWN, FOLLOWED = 100, 25
"""Samples in a picture of the model, and particles in one of a stage, of which there are many."""

PARTS = 20
"""Moments of a stage that is the only one."""

MEASURED = ("step", "seconds", "distance", "floor")
"""What every line of metrics has, as numbers."""

MOST_METRICS = 2**24
"""Bytes of metrics: far more than any run writes."""

COMPARED = 1000
"""Particles, and rows of data, whose distance is estimated after each stage."""


@dataclass(frozen=True)
class Run:
    """The paths of a run's files."""

    folder: Path

    @property
    def config(self) -> Path:
        """What was asked for."""
        return self.folder / "config.yaml"

    @property
    def metrics(self) -> Path:
        """A line of JSON for each moment."""
        return self.folder / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """Where to go on from."""
        return self.folder / "checkpoints"

    @property
    def model(self) -> Path:
        """The model."""
        return self.folder / "model.zip"

    @property
    def film(self) -> Path:
        """The pictures of all stages as a film."""
        return self.folder / "film.gif"

    @property
    def report(self) -> Path:
        """All of it as one page."""
        return self.folder / "report.html"

    @property
    def board(self) -> Path:
        """What TensorBoard shows."""
        return self.folder / "tensorboard"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder and keep other fits out of it; if nothing is written, it goes again."""
        made = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            _lock(handle, self.folder)
            with _removed_if_empty(made):
                yield
        finally:
            os.close(handle)

    def samples_of(self, shape: tuple[int, ...]) -> Path:
        """Return where samples of this shape are: a picture, or a table."""
        return self.folder / ("samples.png" if len(shape) == 3 else "samples.csv")

    def picture(self, step: int) -> Path:
        """Return where the picture after a step is."""
        return self.folder / "stages" / f"{step:06}.png"

    def settings(self) -> dict[str, Any]:
        """Return what was asked for."""
        try:
            return read_settings(self.config)
        except FileError as error:
            raise self.damaged(error) from error

    def damaged(self, error: Exception) -> FileError:
        """Return the error for a `config` that is of no use, with what does without it."""
        fix = f"use {self.model} instead" if self.model.exists() else "fit with the same options"
        return FileError(f"{self.config} is damaged ({error}): delete it, and {fix}")

    def moments(self) -> list[dict[str, Any]]:
        """Return the lines of `metrics`. Of a step that was done twice, the last one counts."""
        moments = {}
        for number, line in enumerate(self._whole_lines(), 1):
            if (moment := _moment(line)) is None:
                raise FileError(
                    f"line {number} of {self.metrics} is damaged: delete that line; or go on with "
                    f"the run, which does it: {self.resume()}"
                )
            moments[moment["step"]] = moment
        return sorted(moments.values(), key=lambda moment: moment["step"])

    def mend(self) -> None:
        """Keep the lines of `metrics` that can be read: a kill may have left a part of one."""
        if self.metrics.exists():
            whole = [line for line in self._whole_lines() if _moment(line) is not None]
            write_text(self.metrics, "".join(whole))

    def _whole_lines(self) -> list[str]:
        """Return the lines of `metrics`, without a last one that has no end."""
        if not self.metrics.exists():
            return []
        if (size := check_file(self.metrics).stat().st_size) > MOST_METRICS:
            raise FileError(f"{self.metrics} has {size} bytes, too many for metrics: delete it")
        lines = self.metrics.read_text(encoding="utf-8", errors="replace").split("\n")
        return [line + "\n" for line in lines[:-1]]

    def pictures(self) -> list[Path]:
        """Return the pictures of the stages so far, one after the other."""
        return sorted(self.picture(0).parent.glob("*.png"))

    def resume(self) -> str:
        """Return the command that goes on with the run."""
        config, out = (shlex.quote(str(path)) for path in (self.config, self.folder))
        return f"sliceflow fit --config {config} --out {out} --resume"

    def again(self) -> str:
        """Return the command that does it again."""
        return f"sliceflow fit --config {shlex.quote(str(self.config))} --out another/folder"

    def save_film(self) -> None:
        """Save the pictures of all stages as a film, if there are any."""
        if frames := list(self._frames()):
            save_film(frames, self.film)

    def _frames(self) -> Iterator[Image.Image]:
        """Yield the pictures of the stages; one that is damaged must not stop a fit at its end."""
        for path in self.pictures():
            with suppress(FileError):
                yield read_image(path).convert("RGB")


def _moment(line: str) -> dict[str, Any] | None:
    """Return a line of metrics, if it can be read."""
    try:
        moment = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_whole = isinstance(moment, dict) and all(
        isinstance(moment.get(name), int | float) for name in MEASURED
    )
    return moment if is_whole else None


def rows_to_compare(plan: Plan) -> Tensor:
    """Draw rows of all data for a `Watcher`, in random order. Every process has to take part."""
    flow, condition = plan.flow, plan.spec.condition
    n = 2 * min(COMPARED, plan.n_particles, plan.n_rows // 2)
    x, _ = condition.split(flow.draw_rows(flow.targets, n, Draw.COMPARED))
    order = Random(plan.spec.seed, Draw.COMPARED).permutation(n)
    return x[:, torch.from_numpy(order)]


@contextmanager
def _removed_if_empty(folders: list[Path]) -> Iterator[None]:
    """In the end remove those of these folders that are empty, the innermost first."""
    try:
        yield
    finally:
        for folder in folders:
            with suppress(OSError):
                folder.rmdir()


def _lock(handle: int, folder: Path) -> None:
    """Lock an open folder until it is closed, be it by the end of the process."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(
            f"another fit is writing to {folder}: pass another --out, or wait until it has ended"
        ) from None
    except (ImportError, OSError):
        return  # Windows has no such locks, nor have folders in some network file systems


@dataclass
class Watcher:
    """A callback that writes a run's metrics and pictures whenever a stage ends.

    ``rows`` are those that particles of this process are compared with: see `rows_to_compare`.
    """

    run: Run
    plan: Plan
    rows: Tensor
    board: Board | None = None
    _last: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        own = sum(self.plan.flow.group.widths(self.plan.n_particles))
        n = min(own, self.rows.shape[1] // 2)
        self._data, others = self.rows[:, :n].T, self.rows[:, n : 2 * n].T
        self._floor = sliced_wasserstein(others, self._data)
        self.run.picture(0).parent.mkdir(parents=True, exist_ok=True)
        self.run.mend()

    def __call__(self, state: State) -> None:
        """Write, at the end of a stage, when particles are up to date."""
        if not self._is_moment(state):
            return
        flow, now = self.plan.flow, perf_counter()
        stage = flow.spec.schedule[state.stage - (state.step == 0)]
        line: dict[str, Any] = {
            "step": flow.steps_done(state),
            "resolution": stage.resolution,
            "patch": stage.patch,
            "seconds": now - self._last,
            "distance": self.distance(state),
            "floor": self._floor,
        }
        with self.run.metrics.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self.draw(state)
        if self.board:
            self.board.show(line, self.run.picture(line["step"]))
        self._last = now

    def _is_moment(self, state: State) -> bool:
        """Whether a stage ends or, if there is one alone, a twentieth of it."""
        if state.step == 0 or len(self.plan.spec.schedule) > 1:
            return state.step == 0
        return state.step % max(1, self.plan.spec.schedule[0].steps // PARTS) == 0

    def distance(self, state: State) -> float:
        """Return the sliced distance of some particles of this process to as many rows."""
        x, _ = self.plan.spec.condition.split(state.particles)
        return sliced_wasserstein(x[:, : len(self._data)].T, self._data)

    def draw(self, state: State) -> None:
        """Draw some of the particles, if they are images."""
        if len(self.plan.spec.shape) == 3:
            pixels, _ = self.plan.samples(state, FOLLOWED)
            draw_grid(pixels, self.run.picture(self.plan.flow.steps_done(state)))


def draw_grid(pixels: np.ndarray, path: Path, labels: np.ndarray | None = None) -> None:
    """Draw images as a square grid or, if there are several labels, in rows with their names."""
    columns, names = max(1, round(len(pixels) ** 0.5)), list[str]()
    if labels is None or len(np.unique(labels)) == 1:
        table = grid(pixels, columns)
    else:
        table, names = named_rows(pixels, labels, columns)
    save_picture(draw(table, zoom_of(pixels.shape), names), path)


def zoom_of(shape: tuple[int, ...]) -> int:
    """Return how wide pixels have to be for images to be seen."""
    return max(1, 64 // shape[-1])
