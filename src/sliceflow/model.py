"""Recorded flows: they draw new samples without the data (the paper's offline samples)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self, overload

import numpy as np
import torch
from torch import Tensor

from sliceflow.codec._codec import Codec, Output
from sliceflow.core._devices import check_device, cpu_by_default
from sliceflow.core._distributed import Merge
from sliceflow.core._groups import SAMPLE_BATCH, group_size
from sliceflow.core._memory import check_memory
from sliceflow.core._random import Draw, Key, Random, child_seed
from sliceflow.core._threads import parallel
from sliceflow.core._validation import check_integer, check_seed
from sliceflow.directions import Block, Operator, slices
from sliceflow.files._archive import PICTURE
from sliceflow.files._model_card import card_parts, facts_of
from sliceflow.files._models import read_model, write_model
from sliceflow.flow._flow import BaseFlow, StageContext
from sliceflow.flow._progress import Progress
from sliceflow.flow._spec import Spec
from sliceflow.flow._starts import JoinedRandom, Sampler
from sliceflow.flow._state import Callback, Record, State
from sliceflow.hub._mixin import OnHub
from sliceflow.notebook._panel import Panel
from sliceflow.notebook._pictures import can_be_shown, embedded, picture_of, pixels_of
from sliceflow.notebook._rows import N_ROWS, Rows, plot_values
from sliceflow.transport import PackedMap
from sliceflow.viz import sheet

Device = str | torch.device

CACHE_BYTES = 2**28
"""Maximum size of the cache of directions, in bytes: drawing them for each batch takes time."""

N_EXAMPLES = 80
"""Number of samples in the picture of a model card."""

N_PLOTTED = 500
"""Number of values in the plots above the rows that notebooks show."""

QUICK_WORK = 4e7
"""Maximum work of what notebooks draw unasked, in moves of one coordinate in one step: at most a
second on one core."""

MAX_BATCHES = 4
"""Maximum number of batches that a thread has in memory at a time."""


@dataclass(frozen=True, eq=False)
class RecordedMaps:
    """The maps of a step, as recorded."""

    maps: PackedMap
    width = 0

    def __call__(
        self, theta: Block, rows: slice, zs: list[Tensor], merge: Merge | None
    ) -> tuple[list[Tensor], None]:
        """Return T(z) − z for the values z of each shard along a block of directions."""
        T = self.maps[rows].to(zs[0].device)
        for z in zs:
            T.displace_(z)
        return zs, None


@dataclass
class DirectionCache:
    """A cache of directions: those of the first steps that fit in `CACHE_BYTES`.

    The directions of a stage are drawn together, before it begins. Drawn one by one, they would
    fragment the memory that each step allocates and frees.
    """

    bytes_left: int = CACHE_BYTES
    stages: dict[tuple[int, torch.device], list[Operator]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def of(self, stage: tuple[int, torch.device], draws: Iterator[Operator]) -> list[Operator]:
        """Return the directions of a stage on a device: of the first steps, as far as they fit."""
        with self.lock:
            if stage not in self.stages:
                self.stages[stage] = list(takewhile(self._fits, draws))
            return self.stages[stage]

    def _fits(self, A: Operator) -> bool:
        self.bytes_left -= A.nbytes
        return self.bytes_left >= 0

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()  # a copy draws them again


@dataclass(frozen=True, eq=False)
class Part:
    """Samples of one seed with consecutive numbers.

    Parameters
    ----------
    seed
        The seed.
    first
        The number of the first sample; of a model that adds noise, a multiple of its group size.
    given
        The conditions, as `Codec.given` returns them.
    """

    seed: int
    first: int
    given: Tensor

    def __len__(self) -> int:
        return self.given.shape[-1]


@dataclass(frozen=True, eq=False)
class Model(BaseFlow, OnHub):
    """A recorded flow, which draws samples without the data.

    A sample depends only on the model, the seed, its number and its condition. Its bits are the
    same for any number of samples and any number of threads.

    Parameters
    ----------
    spec
        What determines the flow besides its data.
    codec
        Converts particles to samples: dtype, units, labels and names.
    start
        The distribution p₀(x | y) where particles start.
    record
        The axes of the stages and the maps of the steps.
    """

    spec: Spec
    codec: Codec
    start: Sampler
    record: Record
    _stages: dict[tuple[int, torch.device], StageContext] = field(
        default_factory=dict, init=False, repr=False
    )
    _cache: DirectionCache = field(default_factory=DirectionCache, init=False, repr=False)
    _pictures: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)

    def __repr__(self) -> str:
        steps = sum(stage.steps for stage in self.spec.schedule)
        return f"Model(shape={self.shape}, condition={self.spec.condition}, steps={steps})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one x: (d,) or (C, h, w)."""
        return self.spec.shape

    @property
    def bytes_of_sample(self) -> int:
        """Minimum memory of a sample in bytes: in its batch, and in the result."""
        return 2 * math.prod(self.shape) * self.codec.x.dtype.itemsize

    @overload
    def sample(
        self,
        n: int,
        y: Any = ...,
        random_state: Any = ...,
        *,
        verbose: bool = ...,
        output: Literal["numpy"],
        device: Device = ...,
    ) -> np.ndarray: ...
    @overload
    def sample(
        self,
        n: int,
        y: Any = ...,
        random_state: Any = ...,
        *,
        verbose: bool = ...,
        output: Literal["torch"],
        device: Device = ...,
    ) -> Tensor: ...
    @overload
    def sample(
        self,
        n: int,
        y: Any = ...,
        random_state: Any = ...,
        *,
        verbose: bool = ...,
        output: None = ...,
        device: Device = ...,
    ) -> Any: ...
    @cpu_by_default()
    def sample(
        self,
        n: int,
        y: Any = None,
        random_state: Any = None,
        *,
        verbose: bool = False,
        output: Output = None,
        device: Device = "cpu",
    ) -> Any:
        """Return n new samples of x, given y if the model is conditional.

        Parameters
        ----------
        n : int
            The number of samples.
        y : label, columns, or row of x, or n of them
            The condition, one for all samples or one for each. Only the observed coordinates of
            rows of x are read (the others may be NaN), and samples have exactly these values. The
            columns of a data frame are found by name. A number beyond the data is replaced by the
            nearest number in the data, with a warning.
        random_state : int, NumPy generator or None
            The seed of these samples: the same seed gives the same samples. By default each call
            gives new samples.
        verbose : bool
            Show progress.
        output : "numpy", "torch" or None
            The kind of array to return. By default that of the data.
        device : str or torch.device
            The device to run on.
        """
        n = check_integer("n", n, 1)
        check_memory("n", n, self.bytes_of_sample)
        seed, given = check_seed(random_state), self.codec.given(n, y)
        groups = [[Part(seed, i.start, given[..., i])] for i in _slices(n, self.group_size)]
        with Progress(self.spec.schedule, times=len(groups), show=verbose) as progress:
            samples = self.sample_parts(groups, [progress], output=output, device=device)
        return self.codec.with_output(output).x.concatenate([x for (x,) in samples])

    @cpu_by_default()
    def sample_parts(
        self,
        groups: Sequence[Sequence[Part]],
        callbacks: Sequence[Callback] = (),
        *,
        output: Output = None,
        device: Device = "cpu",
    ) -> list[list[Any]]:
        """Return the samples of parts, with the bits that `sample` gives them.

        Each group of parts is moved by one thread. A group takes as long as a part of
        `group_size` samples, or as the next multiple of it: fill it with parts of several seeds.
        The callbacks are called after each step of a group.
        """
        device, codec = check_device(device), self.codec.with_output(output)

        def draw(parts: Sequence[Part]) -> list[Any]:
            if self.adds_noise and len(parts) > 1:
                return [x for part in parts for x in draw([part])]
            given = torch.cat([part.given for part in parts], dim=-1)
            z = self._started(parts, given, device)
            x = codec.decode(self._moved(z, parts[0], callbacks), given)
            ends = np.cumsum([len(part) for part in parts]).tolist()
            return [x[end - len(part) : end] for part, end in zip(parts, ends, strict=True)]

        with torch.inference_mode():  # saves time, as steps are short
            return parallel(draw, groups)

    def save(
        self, path: str | Path, about: str = "", metrics: Mapping[str, float] | None = None
    ) -> None:
        """Write the model to a file, which `sliceflow.load` reads.

        The title ``about`` and the measured ``metrics`` go into the model card, a README inside
        the file.
        """
        parts = self.spec, self.codec, self.start, self.record
        card = card_parts(self.spec, self.codec, self._picture(), about, metrics or {})
        write_model(Path(path), parts, card)

    @classmethod
    @cpu_by_default()
    def load(cls, path: str | Path) -> Self:
        """Read a model from a file. `FileError` says what is wrong with it."""
        parts, picture = read_model(Path(path))
        model = cls(*parts)
        if picture is not None:
            model._pictures[PICTURE] = picture
        return model

    def _picture(self) -> bytes | None:
        """Return a picture of samples, if the model has images and needs no data to sample."""
        codec = self.codec
        if codec.needs_data or not codec.x.is_pixels or not can_be_shown(self.shape):
            return None
        if PICTURE not in self._pictures:
            y = None if codec.classes is None else np.resize(codec.classes, N_EXAMPLES)
            samples = self.sample(N_EXAMPLES, y, self.spec.seed, output="numpy")
            self._pictures[PICTURE] = picture_of(samples, min(10, codec.condition.l or 10))
        return self._pictures[PICTURE]

    def show(self, n: int | None = None, y: Any = None, random_state: Any = None) -> Any:
        """Return new samples to look at: images as one picture (Pillow), or rows with their names.

        A notebook displays either; in a terminal, print rows, and ``show().show()`` a picture.

        Parameters
        ----------
        n : int, optional
            The number of samples; by default 80 images, or 5 rows.
        y : label, columns, or row of x, or n of them
            The condition, as for `sample`. If it is a label, all labels by default.
        random_state : int, NumPy generator or None
            The seed of these samples. By default each call shows new ones.
        """
        is_images = len(self.shape) == 3
        n = check_integer("n", (N_EXAMPLES if is_images else N_ROWS) if n is None else n, 1)
        labels = self._labels(n) if y is None else None
        samples = self.sample(n, y if labels is None else labels, random_state, output="numpy")
        if is_images:
            return sheet(pixels_of(samples), labels)
        return Rows.of(self._columns(samples, labels))

    def _labels(self, n: int) -> np.ndarray | None:
        """Return n labels, all as often, in order; None if there are none."""
        classes = self.codec.classes
        return None if classes is None else np.sort(np.resize(classes, n))

    def _columns(self, x: np.ndarray, labels: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return the columns of rows, and their labels, by name."""
        columns = [*x.T, *([] if labels is None else [labels])]
        return dict(zip(self.codec.columns, columns, strict=False))

    def _repr_html_(self) -> str:
        return self.panel("Model").html()

    def panel(self, title: str, picture: bytes | None = None) -> Panel:
        """Return what a notebook shows: facts, and samples if they are at hand or quick to draw."""
        facts = facts_of(self.spec, self.codec, sum(T.nbytes for T in self.record.maps))
        rows = self._some_rows() if len(self.shape) == 1 else None
        if picture is None and (PICTURE in self._pictures or self._is_quick):
            picture = self._picture()
        drawn = None if picture is None else embedded(picture, "Samples, not picked")
        is_empty = drawn is None and (rows is None or not rows.cells)
        call = "show(y=...)" if self.codec.needs_data else "show()"
        return Panel(title, facts, drawn, rows, f"{call} draws samples" if is_empty else "")

    @property
    def _is_quick(self) -> bool:
        steps = sum(stage.steps for stage in self.spec.schedule)
        return steps * self.codec.n_coordinates * self.group_size <= QUICK_WORK

    def _some_rows(self) -> Rows:
        """Return a few rows, and plots of more of them; only names if they would take long."""
        if self.codec.needs_data or not self._is_quick:
            return Rows(self.codec.columns, ())
        labels = self._labels(N_PLOTTED)
        samples = self.sample(N_PLOTTED, labels, self.spec.seed, output="numpy")
        step = N_PLOTTED // N_ROWS  # so that rows of several labels are among them
        columns = self._columns(samples, labels)
        plots = [plot_values(column) for column in samples.T]
        return Rows.of({name: values[::step] for name, values in columns.items()}, plots=plots)

    def inpaint(
        self,
        images: Any,
        n: int = 1,
        random_state: Any = None,
        *,
        verbose: bool = False,
        output: Output = None,
        device: Device = "cpu",
    ) -> Any:
        """Return n samples for each image, given its observed pixels: (images, n, …).

        The other parameters are those of `sample`.
        """
        if self.codec.condition.mask is None:
            raise ValueError(
                'the model does not fill in images: fit one with observed="left", for example'
            )
        pixels = images.cpu() if isinstance(images, Tensor) else np.asarray(images)
        if len(pixels) == 0 or tuple(pixels.shape[1:]) != self.shape:
            raise ValueError(
                f"images have shape {tuple(pixels.shape)}: pass some of shape (n, *{self.shape})"
            )
        check_memory("n", check_integer("n", n, 1), len(pixels) * self.bytes_of_sample)
        rows = np.repeat(np.arange(len(pixels)), n)
        each = pixels[rows]
        samples = self.sample(
            len(each), each, random_state, verbose=verbose, output=output, device=device
        )
        return samples.reshape(-1, n, *self.shape)

    @property
    def group_size(self) -> int:
        """The number of samples that are moved together: always the same for one model."""
        return group_size(self.shape, self.codec.n_coordinates)

    @property
    def adds_noise(self) -> bool:
        """Whether steps add noise, which is drawn for whole groups."""
        return self.spec.engine.entropy > 0

    def _started(self, parts: Sequence[Part], given: Tensor, device: torch.device) -> Tensor:
        """Return the particles of parts, (D, n), where they start."""
        z = self.codec.particles(given).to(device)
        rng = JoinedRandom([draw for part in parts for draw in self._draws(part)])
        self.spec.condition.set_free(z, self.start(rng, z))
        return z

    def _draws(self, part: Part) -> Iterator[tuple[Random, slice]]:
        """Yield the random numbers of each batch, and which of its samples the part has."""
        end = part.first + len(part)
        for number in range(part.first // SAMPLE_BATCH, math.ceil(end / SAMPLE_BATCH)):
            first = number * SAMPLE_BATCH
            rng = self.spec.random(child_seed(part.seed, number), Draw.SAMPLE_START)
            yield rng, slice(max(part.first - first, 0), min(end - first, SAMPLE_BATCH))

    def _moved(self, z: Tensor, part: Part, callbacks: Sequence[Callback]) -> Tensor:
        """Return particles (D, n), moved onto the data. The noise of steps is that of the part."""
        n, size = z.shape[1], self.group_size
        padded = torch.cat([z, z[:, -1:].expand(-1, -n % size)], dim=1)
        shards = [padded[:, columns].contiguous() for columns in slices(padded.shape[1], size)]
        numbers = range(part.first // SAMPLE_BATCH, (part.first + n - 1) // SAMPLE_BATCH + 1)
        seeds = [child_seed(part.seed, number) for number in numbers[:: size // SAMPLE_BATCH]]
        state = State(shards, [Key(seed, Draw.SAMPLE_NOISE) for seed in seeds])
        return self.run(state, callbacks).particles[:, :n]

    def prepare(self, state: State) -> StageContext:
        """Return what the steps of this stage share, computed once for all batches."""
        number, spec, like = state.stage, self.spec, state.shards[0]
        if (number, like.device) not in self._stages:
            level = spec.engine.level(spec.schedule[number], spec.shape, like)
            axes = self.record.axes[number]
            context = StageContext.of(spec, number, level, axes, self._recorded_maps)
            self._stages[number, like.device] = context
        return self._stages[number, like.device]

    def directions(self, context: StageContext, state: State, like: Tensor) -> Operator:
        """Return the directions of this step, drawn once for all batches if they fit in cache."""
        steps = (replace(state, step=i) for i in range(self.spec.schedule[state.stage].steps))
        draw = super().directions
        key = state.stage, like.device
        drawn = self._cache.of(key, (draw(context, step, like) for step in steps))
        return drawn[state.step] if state.step < len(drawn) else draw(context, state, like)

    def _recorded_maps(self, state: State, us: list[Tensor]) -> RecordedMaps:
        """Return the maps that were recorded in this step."""
        return RecordedMaps(self.record.maps[self.steps_done(state)])


def _slices(n: int, size: int) -> list[slice]:
    """Cut n samples into groups of this size, or of some together: one thread moves each.

    A step of a few batches is short, and threads that shared one would mostly wait.
    """
    each = math.ceil(n / size / torch.get_num_threads())
    return list(slices(n, min(each, MAX_BATCHES) * size))
