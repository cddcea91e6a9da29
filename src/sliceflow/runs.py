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
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from PIL import Image

from sliceflow._random import Draw, generator
from sliceflow.board import Board
from sliceflow.course import State
from sliceflow.metrics import sliced_wasserstein
from sliceflow.plan import Plan
from sliceflow.viz import draw, grid, save_film

SHOWN, FOLLOWED = 100, 25
"""Samples in a picture of the model, and particles in one of a stage, of which there are many."""

PARTS = 20
"""Moments of a stage that is the only one."""

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

    def samples_of(self, shape: tuple[int, ...]) -> Path:
        """Return where samples of this shape are: a picture, or a table."""
        return self.folder / ("samples.png" if len(shape) == 3 else "samples.csv")

    def picture(self, step: int) -> Path:
        """Return where the picture after a step is."""
        return self.folder / "stages" / f"{step:06}.png"

    def moments(self) -> list[dict[str, Any]]:
        """Return the lines of `metrics`. Of a step that was done twice, the last one counts."""
        lines = map(json.loads, self._whole_lines().splitlines())
        return sorted({line["step"]: line for line in lines}.values(), key=lambda l: l["step"])

    def mend(self) -> None:
        """Cut off the part of a line that a kill may have left in `metrics`."""
        if self.metrics.exists():
            self.metrics.write_text(self._whole_lines())

    def _whole_lines(self) -> str:
        text = self.metrics.read_text() if self.metrics.exists() else ""
        return text[: text.rfind("\n") + 1]

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
        if frames := [Image.open(path).convert("RGB") for path in self.pictures()]:
            save_film(frames, self.film)


@dataclass
class Watcher:
    """A callback that writes a run's metrics and pictures whenever a stage ends."""

    run: Run
    plan: Plan
    board: Board | None = None
    _last: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        flow = self.plan.flow
        n = min(COMPARED, self.plan.n_particles, self.plan.n_rows // 2)
        data = flow.targets[0].draw(generator(flow.seed, Draw.COMPARED), 2 * n)
        x, _ = flow.condition.split(data)
        self._data, others = x[:, :n].T, x[:, n:].T
        self._floor = sliced_wasserstein(others, self._data)
        self.run.picture(0).parent.mkdir(parents=True, exist_ok=True)
        self.run.mend()

    def __call__(self, state: State) -> None:
        """Write, at the end of a stage, when particles are up to date."""
        if not self._is_moment(state):
            return
        flow, now = self.plan.flow, perf_counter()
        stage = flow.schedule[state.stage - (state.step == 0)]
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
        if state.step == 0 or len(self.plan.flow.schedule) > 1:
            return state.step == 0
        return state.step % max(1, self.plan.flow.schedule[0].steps // PARTS) == 0

    def distance(self, state: State) -> float:
        """Return the sliced distance of some particles to as many rows of the data."""
        x, _ = self.plan.flow.condition.split(state.particles)
        return sliced_wasserstein(x[:, : len(self._data)].T, self._data)

    def draw(self, state: State) -> None:
        """Draw some of the particles, if they are images."""
        if len(self.plan.flow.shape) == 3:
            pixels, _ = self.plan.samples(state, FOLLOWED)
            draw_grid(pixels, self.run.picture(self.plan.flow.steps_done(state)))


def draw_grid(pixels: np.ndarray, path: Path) -> None:
    """Draw images as a square grid."""
    columns = max(1, round(len(pixels) ** 0.5))
    draw(grid(pixels, columns), zoom_of(pixels.shape)).save(path)


def zoom_of(shape: tuple[int, ...]) -> int:
    """Return how wide pixels have to be for images to be seen."""
    return max(1, 64 // shape[-1])
