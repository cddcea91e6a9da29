"""Progress on the terminal: a callback, so that the flow itself prints nothing."""

from typing import Self

from tqdm.auto import tqdm

from sliceflow.course import State
from sliceflow.schedules import Stage


class Progress:
    """A bar over all steps, with the time left and the stage; silent if not shown."""

    def __init__(self, schedule: tuple[Stage, ...], *, done: int = 0, show: bool) -> None:
        self._stages, total = len(schedule), sum(stage.steps for stage in schedule)
        self._bar = tqdm(total=total, initial=done, disable=not show)

    def __call__(self, state: State) -> None:
        """Count one step."""
        stage = min(state.stage + 1, self._stages)
        self._bar.set_description(f"stage {stage}/{self._stages}", refresh=False)
        self._bar.update()  # draws the bar, but not more often than it can be seen

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()
