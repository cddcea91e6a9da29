"""A run: a folder to look at during a fit and after it.

config.yaml      options of the fit: `sliceflow fit --config` repeats it
metrics.jsonl    a line for each stage: its time, and the distance of particles to the data
stages/          pictures of the same particles after each stage
film.gif         these pictures as an animation
checkpoints/     saved states, to resume the fit from
model.zip        the model
samples.png      samples of the model, or samples.csv
report.html      everything on one page
tensorboard/     metrics and pictures for TensorBoard, with --tensorboard
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

from sliceflow.core._atomic import write_text
from sliceflow.core._random import Draw, Random
from sliceflow.core._reading import FileError, check_file
from sliceflow.core._settings import read_settings
from sliceflow.data._folders import read_image
from sliceflow.flow._state import State
from sliceflow.metrics import sliced_wasserstein
from sliceflow.runs._plan import Plan
from sliceflow.runs._tensorboard import TensorBoardWriter
from sliceflow.viz import draw, grid, named_rows, save_film, save_picture

N_SAMPLES, N_FOLLOWED = 100, 25
"""Number of samples in the final picture, and of particles in the picture of each stage."""

METRIC_LINES = 20
"""Number of lines of metrics for a schedule with a single stage."""

METRIC_NAMES = ("step", "seconds", "distance", "floor")
"""Numbers that every line of metrics has."""

MAX_METRICS = 2**24
"""Maximum size of the metrics file in bytes: far more than any run writes."""

N_COMPARED = 1000
"""Number of particles, and of rows of data, used to estimate their distance."""


@dataclass(frozen=True)
class Run:
    """The paths of a run's files."""

    folder: Path

    @property
    def config(self) -> Path:
        """The options of the fit."""
        return self.folder / "config.yaml"

    @property
    def metrics(self) -> Path:
        """A line of JSON for each stage."""
        return self.folder / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """Saved states, to resume the fit from."""
        return self.folder / "checkpoints"

    @property
    def model(self) -> Path:
        """The model."""
        return self.folder / "model.zip"

    @property
    def film(self) -> Path:
        """The pictures of all stages as an animation."""
        return self.folder / "film.gif"

    @property
    def report(self) -> Path:
        """Everything on one page."""
        return self.folder / "report.html"

    @property
    def tensorboard(self) -> Path:
        """The folder for TensorBoard."""
        return self.folder / "tensorboard"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create the folder and lock it against other fits; remove it if it stays empty."""
        created = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        with _locked(self.folder), _removed_if_empty(created):
            yield

    def samples_of(self, shape: tuple[int, ...]) -> Path:
        """Return the file for samples of this shape: a picture or a table."""
        return self.folder / ("samples.png" if len(shape) == 3 else "samples.csv")

    def picture(self, step: int) -> Path:
        """Return the file for the picture after a step."""
        return self.folder / "stages" / f"{step:06}.png"

    def settings(self) -> dict[str, Any]:
        """Return the contents of `config`."""
        try:
            return read_settings(self.config)
        except FileError as error:
            raise self.damaged(error) from error

    def damaged(self, error: Exception) -> FileError:
        """Return the error for a `config` that cannot be read, with the way to do without it."""
        fix = f"use {self.model} instead" if self.model.exists() else "fit with the same options"
        return FileError(f"{self.config} is damaged ({error}): delete it, and {fix}")

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return the lines of `metrics`, sorted by step. The last line of a step counts."""
        by_step = {}
        for number, line in enumerate(self._complete_lines(), 1):
            if (entry := _parsed(line)) is None:
                raise FileError(
                    f"line {number} of {self.metrics} is damaged: delete that line, or resume the "
                    f"run, which deletes it: {self.resume()}"
                )
            by_step[entry["step"]] = entry
        return [by_step[step] for step in sorted(by_step)]

    def repair_metrics(self) -> None:
        """Drop damaged lines of `metrics`: a killed process may have written half a line."""
        if self.metrics.exists():
            readable = [line for line in self._complete_lines() if _parsed(line) is not None]
            write_text(self.metrics, "".join(readable))

    def _complete_lines(self) -> list[str]:
        """Return the lines of `metrics` that end in a line break."""
        if not self.metrics.exists():
            return []
        if (size := check_file(self.metrics).stat().st_size) > MAX_METRICS:
            raise FileError(f"{self.metrics} is too large for metrics ({size} bytes): delete it")
        lines = self.metrics.read_text(encoding="utf-8", errors="replace").split("\n")
        return [line + "\n" for line in lines[:-1]]

    def pictures(self) -> list[Path]:
        """Return the pictures of the stages so far, in order."""
        return sorted(self.picture(0).parent.glob("*.png"))

    def resume(self) -> str:
        """Return the command that resumes the run."""
        return f"{self._fit()} --out {shlex.quote(str(self.folder))} --resume"

    def repeat(self) -> str:
        """Return the command that repeats the run in another folder."""
        return f"{self._fit()} --out another/folder"

    def _fit(self) -> str:
        command = f"sliceflow fit --config {shlex.quote(str(self.config))}"
        is_shared = self.config.exists() and "distributed: true" in self.config.read_text()
        return (
            f"python -m sliceflow.launch --nproc-per-node 2 -m {command}" if is_shared else command
        )

    def save_film(self) -> None:
        """Save the pictures of all stages as an animation, if there are any."""
        if frames := list(self._frames()):
            save_film(frames, self.film)

    def _frames(self) -> Iterator[Image.Image]:
        """Yield the pictures of the stages, without damaged ones: they must not stop a fit."""
        for path in self.pictures():
            with suppress(FileError):
                yield read_image(path).convert("RGB")


def _parsed(line: str) -> dict[str, Any] | None:
    """Return a line of metrics, or None if it is damaged."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_complete = isinstance(entry, dict) and all(
        isinstance(entry.get(name), int | float) for name in METRIC_NAMES
    )
    return entry if is_complete else None


def rows_to_compare(plan: Plan) -> Tensor:
    """Draw rows of all data for a `RunLogger`, in random order. All processes must call it."""
    flow = plan.flow
    n = 2 * min(N_COMPARED, plan.n_particles, plan.n_rows // 2)
    x, _ = plan.spec.condition.split(flow.draw_rows(flow.targets, n, Draw.COMPARED))
    order = Random(plan.spec.seed, Draw.COMPARED).permutation(n)
    return x[:, torch.from_numpy(order)]


@contextmanager
def _removed_if_empty(folders: list[Path]) -> Iterator[None]:
    """At the end, remove those of these folders that are empty, innermost first."""
    try:
        yield
    finally:
        for folder in folders:
            with suppress(OSError):
                folder.rmdir()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes, if the system has such locks; Windows does not."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ValueError(
            f"another fit is writing to {folder}: pass another --out, or wait until it is done"
        ) from None
    except OSError:
        pass  # some network file systems have no locks
    try:
        yield
    finally:
        os.close(handle)


@dataclass
class RunLogger:
    """A callback that writes a run's metrics and pictures, at least at the end of each stage.

    Particles of this process are compared with ``rows``; see `rows_to_compare`.
    """

    run: Run
    plan: Plan
    rows: Tensor
    tensorboard: TensorBoardWriter | None = None
    _last: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        own = sum(self.plan.flow.group.widths(self.plan.n_particles))
        n = min(own, self.rows.shape[1] // 2)
        self._data, others = self.rows[:, :n].T, self.rows[:, n : 2 * n].T
        self._floor = sliced_wasserstein(others, self._data)
        self.run.picture(0).parent.mkdir(parents=True, exist_ok=True)
        self.run.repair_metrics()

    def __call__(self, state: State) -> None:
        """Write metrics and a picture, if they are due."""
        if not self._is_due(state):
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
        if self.tensorboard:
            self.tensorboard.write(line, self.run.picture(line["step"]))
        self._last = now

    def _is_due(self, state: State) -> bool:
        """Return whether a stage ends or, if x has one stage at full size, a twentieth of it."""
        schedule = self.plan.spec.schedule
        if state.step == 0 or len(schedule) > 1 or schedule[0].resolution is not None:
            return state.step == 0
        return state.step % max(1, self.plan.spec.schedule[0].steps // METRIC_LINES) == 0

    def distance(self, state: State) -> float:
        """Return the sliced distance between particles of this process and rows of data."""
        x, _ = self.plan.spec.condition.split(state.particles)
        return sliced_wasserstein(x[:, : len(self._data)].T, self._data)

    def draw(self, state: State) -> None:
        """Draw the first particles, if they are images."""
        if len(self.plan.spec.shape) == 3:
            pixels, _ = self.plan.samples(state, N_FOLLOWED)
            draw_grid(pixels, self.run.picture(self.plan.flow.steps_done(state)))


def draw_grid(pixels: np.ndarray, path: Path, labels: np.ndarray | None = None) -> None:
    """Save a picture of images."""
    save_picture(picture_of(pixels, labels), path)


def picture_of(pixels: np.ndarray, labels: np.ndarray | None = None) -> Image.Image:
    """Return images as a square grid or, with several labels, as rows with their names."""
    columns, names = max(1, round(len(pixels) ** 0.5)), list[str]()
    if labels is None or len(np.unique(labels)) == 1:
        table = grid(pixels, columns)
    else:
        table, names = named_rows(pixels, labels, columns)
    return draw(table, zoom_of(pixels.shape), names)


def zoom_of(shape: tuple[int, ...]) -> int:
    """Return the factor by which small images are enlarged, so that they can be seen."""
    return max(1, 64 // shape[-1])
