"""Progress on the terminal: a callback, so that the flow itself prints nothing."""

from typing import Self

from tqdm.auto import tqdm

from sliceflow.course import State
from sliceflow.schedules import Stage


class Progress:
    """A bar over all steps, with the time left and the stage; silent if not shown.

    Several threads may count on it. Once it is closed it ends those that still do: nobody waits
    for their steps any more.
    """

    def __init__(
        self, schedule: tuple[Stage, ...], *, times: int = 1, done: int = 0, show: bool
    ) -> None:
        self._stages, total = len(schedule), times * sum(stage.steps for stage in schedule)
        self._bar = tqdm(total=total, initial=done, disable=not show)
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
            self._bar.update()  # draws the bar, but not more often than it can be seen

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._is_closed = True
        self._bar.close()
