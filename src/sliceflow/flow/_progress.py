"""Progress, as a callback, so that the flow itself prints nothing.

Terminals and notebooks show a bar; files and pipes get a line every few seconds.
"""

import sys
import warnings
from typing import Any, Self

with warnings.catch_warnings():  # without ipywidgets, a notebook gets plain text, and no advice
    warnings.filterwarnings("ignore", "IProgress not found")
    from tqdm.auto import tqdm

from sliceflow.flow._state import State
from sliceflow.flow.schedules import Stage

SECONDS = 10
"""Seconds between lines, and before the first one: shorter runs need none."""

LINE = "{desc}{n_fmt} of {total_fmt} steps, {percentage:.0f} %, took {elapsed}, {remaining} left"


class Lines:
    """Standard error for tqdm, where each update is a new line."""

    def write(self, text: str) -> None:
        """Write an update as a line."""
        if text.strip():
            sys.stderr.write(f"{text.strip()}\n")

    def flush(self) -> None:
        """Flush standard error."""
        sys.stderr.flush()


def _style() -> dict[str, Any]:
    """Return the options of tqdm for this terminal, notebook or file."""
    in_notebook = type(sys.stderr).__module__.startswith("ipykernel.")
    if in_notebook or sys.stderr.isatty():
        return {}
    pause = {"mininterval": SECONDS, "delay": SECONDS, "miniters": 1}
    return {"file": Lines(), "bar_format": LINE, **pause}


class Progress:
    """A progress bar over all steps, with the stage and the time left; silent without ``show``.

    Several threads may share it. Once it is closed, it stops threads that still call it.
    """

    def __init__(
        self, schedule: tuple[Stage, ...], *, times: int = 1, done: int = 0, show: bool
    ) -> None:
        self._stages, total = len(schedule), times * sum(stage.steps for stage in schedule)
        self._bar = tqdm(total=total, initial=done, disable=not show, **(_style() if show else {}))
        self._is_closed = False

    def __call__(self, state: State) -> None:
        """Count one step."""
        if self._is_closed:
            raise InterruptedError("the flow was interrupted")
        if self._bar.disable:
            return
        stage = min(state.stage + 1, self._stages)
        with self._bar.get_lock():
            self._bar.set_description(f"stage {stage}/{self._stages}", refresh=False)
            self._bar.update()  # redraws only every 0.1 s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._is_closed = True
        self._bar.close()
