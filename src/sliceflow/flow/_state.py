"""What changes while a flow runs: save it to stop, load it to resume."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sliceflow.core._random import Key
from sliceflow.transport import PackedMap


@dataclass
class Record:
    """What a model needs of the data: the axes of each stage, and the maps of each step."""

    axes: list[Tensor | None] = field(default_factory=list)
    maps: list[PackedMap] = field(default_factory=list)
    _reserved: list[PackedMap] = field(default_factory=list, repr=False)

    def add(self, maps: PackedMap, steps_left: int) -> None:
        """Keep a step's maps, in memory that is reserved at once for all steps left of the stage.

        Allocated one by one, maps would fragment the memory that each step allocates and frees.
        """
        if not self._reserved:
            self._reserved = maps.reserve(steps_left)
        kept = self._reserved.pop(0)
        kept.copy_(maps)
        self.maps.append(kept)


@dataclass
class State:
    """All that changes while a flow runs: save it to stop, load it to resume.

    An interrupted step has moved some tiles and not others: resume from a saved state.

    Parameters
    ----------
    shards
        The particles of this process, (D, M) each, which move by the same maps.
    noise
        The key of the noise of each shard; its stage and step are those of the state.
    stage, step
        The next step to do.
    coordinates
        The shards in the coordinates of the stage's level, if the stage keeps them there. At full
        size, as for tables, they are ``shards`` themselves. At any other level, ``shards`` are as
        they were when the stage began, until it ends.
    record
        What a model needs of the steps so far; None to record nothing.
    """

    shards: list[Tensor]
    noise: list[Key]
    stage: int = 0
    step: int = 0
    coordinates: list[Tensor] | None = None
    record: Record | None = None

    @property
    def particles(self) -> Tensor:
        """The particles of this process, (D, M); at a level, as they were when the stage began."""
        return torch.cat(self.shards, dim=1) if len(self.shards) > 1 else self.shards[0]


Callback = Callable[[State], object]
"""Called with the state after each step."""
