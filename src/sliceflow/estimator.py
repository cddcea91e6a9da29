"""The door: `SlicedFlow`, with scikit-learn's conventions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from sliceflow._parameters import Parameters
from sliceflow._random import Draw, Random
from sliceflow._scaling import Scaling
from sliceflow._support import Support
from sliceflow._validation import (
    Kind,
    are_labels,
    check_columns,
    check_device,
    check_flag,
    check_given_labels,
    check_integer,
    check_labels,
    check_mask,
    check_number,
    check_optional_integer,
    check_preset,
    check_resolution,
    check_rows,
    check_seed,
    check_shards,
    check_training_columns,
    check_training_rows,
    column_names,
    is_bytes,
    numbered_names,
)
from sliceflow.conditions import (
    Columns,
    Condition,
    Label,
    Observed,
    Unconditional,
    given_numbers,
)
from sliceflow.distributed import Group
from sliceflow.distributed import group as group_of
from sliceflow.engines import Engine, Exact, Fast
from sliceflow.flow import Flow, Precision
from sliceflow.plan import Plan
from sliceflow.schedules import PRESETS, Stage, by_name
from sliceflow.starts import Gaussian, Noise, Start
from sliceflow.streams import Reader, Stream, StreamTarget
from sliceflow.targets import ArrayTarget, Target, balanced, mixed
from sliceflow.transport import KNOTS

PROBED = 10_000
"""Rows of a stream from which units, labels and their shares are found out."""

OF_LABELS, OF_NUMBERS = 10.0, 1.0
"""ξ by default. For numbers, 10 would make z almost y alone: x would follow single rows."""

MOST_STREAMED = 10_000
"""Particles, and rows that a step sees of a stream, by default."""


class SlicedFlow(Parameters):
    """Sample p(x) or p(x | y) by moving particles with a sliced-Wasserstein flow.

    Nothing is trained: `fit` moves ``n_particles`` from noise onto the data and records how each
    step moves them; `sample` moves new ones the same way, which takes much less time. Columns of
    tables are brought to mean 0 and standard deviation 1 first, and back in the end; pixels are
    not.

    Parameters
    ----------
    n_particles : int, optional
        M. By default as many as the data has rows.
    schedule : int, "quick", "standard", "best" or sequence of Stage, optional
        The steps: a number of them with directions of all of x, a preset, or stages one after
        the other. More steps come nearer to the data. By default "standard": 100 steps for a
        table, a pyramid of levels for images. The last level should be that of the image: detail
        that no level sees stays noise.
    engine : Engine, optional
        How a step is done: `Fast` by default, or `Exact` for the paper's own.
    start : float or "gaussian", optional
        Where particles start: noise of this standard deviation, or a Gaussian with the mean and
        the covariance of the data, of each class if there are labels. By default 1 for tables,
        "gaussian" for colour images, and 0.01 for grey ones, but 1 if part of them is observed:
        what is observed must not outweigh the noise, or all samples given it would be alike.
    y_type : "labels", "numbers" or None
        What y is. By default words, truth values, and one column of whole numbers are labels, if
        there are at most 100 different ones and each occurs twice on average; all else is numbers.
    amplifier : float, optional
        ξ: how much y weighs. By default 10 for labels, as in the paper, and 1 for numbers; 0
        ignores y, and too much hurts where there are few rows.
    balanced : bool
        Whether all labels are to have equally many particles; by default as in the data.
    observed : bool array of the shape of one row of x, or the name of a half, optional
        The coordinates of x that are given when sampling, the same for all rows: inpainting. Or
        the half of the images that is given: "left", "right", "top" or "bottom".
    entropy : float
        λ: each step adds noise of variance 2λη (Liutkus et al.).
    fixed_directions : bool
        Draw directions once for each stage instead of for each step (Liutkus et al.).
    batch_size : int, optional
        The most rows of data that a step sees: one of equal parts, drawn for each step or, at a
        resolution, for each stage. By default all.
    n_cdf : int, optional
        The particles, drawn afresh, from which a step estimates their CDF. By default all.
    knots : int or None
        How finely the map of each direction is recorded, for `sample`: more knots take more memory
        and come nearer to it. None records nothing: then there are only the particles of the fit.
    checkpoints : path, optional
        A folder in which `fit` saves how far it is, every so many minutes, on SIGTERM and Ctrl-C,
        and from which the same fit goes on with the same bits. The last two are kept.
    checkpoint_minutes : float
        How long to wait between two.
    shards : int, optional
        Into how many parts particles and data are cut: processes that torchrun started share them,
        and as many shards give the same bits on any number of processes. By default 64 if there
        are such processes, or fewer if there are not as many rows and particles, else 1.
    device : str or torch.device
        Where to work.
    random_state : int, NumPy generator or None
        The seed. The same one gives the same bits on any number of threads.
    verbose : bool
        Show progress.

    Attributes
    ----------
    particles_ : array, (n_particles, ...)
        The particles after `fit`: the paper's batched samples. In few dimensions, as many of them
        as there are rows end near the rows themselves; those of `sample` keep more distance. Of
        many processes, each has its own.
    conditions_ : array or None
        Their labels or columns, which follow those of the data.
    classes_ : array or None
        The labels that occur in y, if it is labels.
    model_ : FlowModel or None
        The recorded flow, which needs no data to be sampled from.
    seed_ : int
        The seed used.
    n_features_in_ : int
        The number of values in a row of x.
    feature_names_in_ : array
        The names of the columns of x, if it is a data frame whose names are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from sliceflow import SlicedFlow
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=500)
    >>> x = rng.normal(size=(500, 2)) + 4 * y[:, None]
    >>> model = SlicedFlow(schedule=40, random_state=0).fit(x, y)
    >>> model.sample(100, y=1).mean(axis=0).round()
    array([4., 4.])
    """

    def __init__(
        self,
        *,
        n_particles: int | None = None,
        schedule: int | str | Sequence[Stage] | None = None,
        engine: Engine | None = None,
        start: float | str | None = None,
        y_type: str | None = None,
        amplifier: float | None = None,
        balanced: bool = False,
        observed: Any = None,
        entropy: float = 0.0,
        fixed_directions: bool = False,
        batch_size: int | None = None,
        n_cdf: int | None = None,
        knots: int | None = KNOTS,
        checkpoints: str | Path | None = None,
        checkpoint_minutes: float = 10.0,
        shards: int | None = None,
        device: str | torch.device = "cpu",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_particles = n_particles
        self.schedule = schedule
        self.engine = engine
        self.start = start
        self.y_type = y_type
        self.amplifier = amplifier
        self.balanced = balanced
        self.observed = observed
        self.entropy = entropy
        self.fixed_directions = fixed_directions
        self.batch_size = batch_size
        self.n_cdf = n_cdf
        self.knots = knots
        self.checkpoints = checkpoints
        self.checkpoint_minutes = checkpoint_minutes
        self.shards = shards
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, x: Any, y: Any = None) -> Self:
        """Move particles from noise onto the data.

        Parameters
        ----------
        x : array or tensor, (n, d) or (n, C, h, w), or stream
            Rows of a table, with any units, or images: bytes from 0 to 255, which come back as
            bytes, or values of about −1 to 1. A `sliceflow.data.stream` has both x and y.
        y : array or tensor, (n,) or (n, l), optional
            What to condition on: labels or numbers; see ``y_type``.
        """
        plan = self.plan(x, y)
        minutes = check_number("checkpoint_minutes", self.checkpoint_minutes, positive=False)
        state = plan.run((), self.checkpoints, minutes, self.verbose)
        # Set only now: a fit that fails leaves a fitted model as it was.
        self.classes_, self.seed_ = plan.classes, plan.flow.seed
        self.n_features_in_ = math.prod(plan.flow.shape)
        self.model_ = plan.model(state)
        self.particles_, self.conditions_ = plan.samples(state)
        self._set_feature_names(column_names(x))
        return self

    def plan(self, x: Any, y: Any = None) -> Plan:
        """Check data and parameters, and return what `fit` would do, for you to run and watch."""
        if self.checkpoints is not None and self.random_state is None:
            raise ValueError("checkpoints are of one seed: pass random_state=0 to go on from them")
        seed, stream = check_seed(self.random_state), x if isinstance(x, Stream) else None
        if stream is not None:
            if y is not None:
                raise ValueError("a stream has its own y: name its columns there, and leave it out")
            x, y = stream.draw(Random(seed, Draw.PROBE), PROBED)
        rows = check_training_rows(x)
        shape, (n, m, group) = tuple(rows.shape[1:]), self._numbers(len(rows), stream)
        condition, y_rows, classes = self._condition(shape, len(rows), y)
        z = condition.join(rows.cpu().flatten(1).T, y_rows)
        support = Support.of(z, given_numbers(condition, shape))
        z = support.clip(z)
        pixels = torch.arange(len(z)) < (math.prod(shape) if is_bytes(x) else 0)
        scaling = Scaling.of(z, _columns(shape, condition), pixels)
        device = check_device(self.device)
        join = Joining(condition, classes, support, scaling, int(pixels.sum()), device)
        if stream is None:
            targets: Sequence[Target] = self._targets(scaling.forward(z), join, seed, group)
        else:
            targets = self._streamed(stream, scaling.forward(z), join, group)
        flow = self._flow(targets, condition, shape, seed, group)
        kinds = Kind.of(x), None if y is None else Kind.of(y)
        names = _names(x, y, math.prod(shape))
        return Plan(flow, m, n, support, scaling, *kinds, np.shape(y)[1:], classes, names)

    def sample(self, n: int, y: Any = None, random_state: Any = None) -> Any:
        """Return n new samples of x, given y if the model is conditional.

        Parameters
        ----------
        n : int
            How many.
        y : label, columns, or row of x, or n of them
            The condition, one for all samples or one for each. Of rows of x only the observed
            coordinates are read (the others may be NaN), and they come back as they are. The
            columns of a data frame are found by name. A number beyond the data counts as the
            nearest that the data has, with a warning.
        random_state : int, NumPy generator or None
            The seed of these samples: the same one gives the same samples. By default each call
            gives new ones.
        """
        if not hasattr(self, "model_"):
            raise ValueError("this SlicedFlow is not fitted: call fit(x) or fit(x, y) first")
        if self.model_ is None:
            raise ValueError("this fit was not recorded: pass knots=64 and fit again to sample")
        return self.model_.sample(n, y, random_state, self.verbose)

    def _set_feature_names(self, names: tuple[str, ...]) -> None:
        """Have them only if there are some, as scikit-learn does."""
        self.__dict__.pop("feature_names_in_", None)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator takes. Only scikit-learn calls it."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(None, TargetTags(required=False), input_tags=InputTags())

    def _numbers(self, rows: int, stream: Stream | None) -> tuple[int, int, Group]:
        """Return how many rows and particles there are, and the processes that share them."""
        n = rows if stream is None else len(stream)
        m = min(n, MOST_STREAMED if stream else n) if self.n_particles is None else self.n_particles
        m = check_integer("n_particles", m, 2)
        most = min(m, n if stream is None else len(stream.blocks.sizes))
        group = group_of(check_optional_integer("shards", self.shards, 1), most)
        check_shards(group.shards, most, group.size)
        return n, m, group

    def _flow(
        self,
        targets: Sequence[Target],
        condition: Condition,
        shape: tuple[int, ...],
        seed: int,
        group: Group,
    ) -> Flow:
        """Check the parameters and make the flow to these targets."""
        knots = check_optional_integer("knots", self.knots, 2)
        return Flow(
            targets,
            condition,
            shape,
            self._stages(shape),
            self._engine(group.shards),
            initial=self._initial(shape),
            entropy=check_number("entropy", self.entropy, positive=False),
            fixed_directions=check_flag("fixed_directions", self.fixed_directions),
            n_cdf=check_optional_integer("n_cdf", self.n_cdf, 2),
            precision=None if knots is None else Precision(knots),
            seed=seed,
            group=group,
        )

    def _targets(self, data: Tensor, join: "Joining", seed: int, group: Group) -> list[ArrayTarget]:
        """Return the shards of the data, (D, N), that this process has."""
        rng, labels = Random(seed, Draw.ORDER), _strata(data, join.condition)
        if check_flag("balanced", self.balanced):
            rows = balanced(rng, labels)
            data, labels = data[:, rows], labels[rows]
        data = data[:, mixed(rng, labels)]
        each, cuts = self._batch_size(group), group.cuts(data.shape[1])
        return [ArrayTarget(data[:, own].to(join.device), each, join.n_pixels) for own in cuts]

    def _streamed(
        self, stream: Stream, some: Tensor, join: "Joining", group: Group
    ) -> list[StreamTarget]:
        """Return the shards of a stream that this process has; its labels are as often as here."""
        each, reader = self._batch_size(group) or -(-MOST_STREAMED // group.shards), Reader()
        shares = None
        if isinstance(join.condition, Label):
            counts = np.bincount(_strata(some, join.condition), minlength=join.condition.l)
            shares = np.ones(len(counts)) if self.balanced else counts
        blocks = np.arange(len(stream.blocks.sizes))
        return [
            StreamTarget(stream.blocks, blocks[v :: group.shards], each, join, reader, shares)
            for v in group.own
        ]

    def _batch_size(self, group: Group) -> int | None:
        """Return how many rows a step sees of each shard, if not all."""
        size = check_optional_integer("batch_size", self.batch_size, 2)
        return None if size is None else math.ceil(size / group.shards)

    def _engine(self, shards: int) -> Engine:
        if self.engine is None:
            return Fast()
        if not isinstance(self.engine, Fast | Exact):
            raise TypeError(f"engine={self.engine!r} is no engine: pass Fast() or Exact()")
        if isinstance(self.engine, Exact) and shards > 1:
            raise ValueError(
                "Exact() sorts all values in one place, and has no shards: pass Fast(), or run it "
                "as one process and leave out shards"
            )
        return self.engine

    def _initial(self, shape: tuple[int, ...]) -> Start:
        start = self.start
        if start is None:
            grey = 0.01 if self.observed is None else 1.0
            start = 1.0 if len(shape) == 1 else grey if shape[0] == 1 else "gaussian"
        if isinstance(start, str):
            if start != "gaussian":
                raise ValueError(f'start={start!r}: pass "gaussian" or a standard deviation')
            return Gaussian()
        return Noise(check_number("start", start, positive=True))

    def _condition(
        self, shape: tuple[int, ...], n: int, y: Any
    ) -> tuple[Condition, Tensor | None, np.ndarray | None]:
        """Choose the condition by what is given; return it, y for it to join, and the classes."""
        for name in ("amplifier", "y_type"):
            if getattr(self, name) is not None and (y is None or self.observed is not None):
                raise ValueError(f"{name} is about y, and there is none: leave it out, or give y")
        if self.balanced and (y is None or not are_labels(y, self.y_type)):
            raise ValueError("balanced=True is for labels, and y has none: leave it out")
        if self.observed is not None:
            if y is not None:
                raise ValueError("observed and y are two conditions: give one of them")
            return Observed(check_mask(self.observed, shape)), None, None
        if y is None:
            return Unconditional(), None, None
        if not are_labels(y, self.y_type):
            columns = check_training_columns(y, n)
            return Columns(len(columns), self._amplifier(OF_NUMBERS)), columns, None
        classes, codes = check_labels(y, n)
        return Label(len(classes), self._amplifier(OF_LABELS)), codes, classes

    def _amplifier(self, default: float) -> float:
        given = default if self.amplifier is None else self.amplifier
        return check_number("amplifier", given, positive=False)

    def _stages(self, shape: tuple[int, ...]) -> tuple[Stage, ...]:
        """Return the schedule as stages, if they fit the shape of x."""
        schedule = "standard" if self.schedule is None else self.schedule
        is_exact = isinstance(self.engine, Exact)
        if isinstance(schedule, str):
            stages = by_name(check_preset(schedule, PRESETS), shape)
            return tuple(map(_of_exact, stages)) if is_exact else stages
        if isinstance(schedule, Stage):
            raise TypeError(f"schedule={schedule} is one stage: put it in a list")
        if not isinstance(schedule, Sequence):
            return (Stage(check_integer("schedule", schedule, 1)),)
        if not schedule:
            raise ValueError("schedule is empty: give a number of steps or at least one Stage")
        return tuple(_checked(stage, shape, is_exact) for stage in schedule)


@dataclass(frozen=True, eq=False)
class Joining:
    """How rows of data become particles."""

    condition: Condition
    classes: np.ndarray | None
    support: Support
    scaling: Scaling
    n_pixels: int
    device: torch.device

    def __call__(self, x: np.ndarray, y: np.ndarray | None) -> Tensor:
        """Return particles (D, n) of rows and their labels or columns."""
        rows, given = check_rows(x), None
        if self.classes is not None:
            given = self._labels(y, len(rows))
        elif self.condition.l:
            given = check_columns(y, len(rows))
        z = self.support.clip(self.condition.join(rows.flatten(1).T, given))
        return self.scaling.forward(z).to(self.device)

    def _labels(self, y: np.ndarray | None, n: int) -> Tensor:
        assert self.classes is not None
        try:
            return check_given_labels(y, n, self.classes)
        except ValueError as error:
            raise ValueError(
                f"y has labels that are not among the {PROBED:,} rows which were looked at before "
                "the fit: put rare labels together, or drop their rows"
            ) from error

    def labels(self, z: Tensor) -> np.ndarray:
        """Return the class number of each particle."""
        return _strata(z, self.condition)


def _of_exact(stage: Stage) -> Stage:
    """Return a stage of a preset as the exact engine does it."""
    return Stage(stage.steps, stage.resolution, stage.patch if stage.resolution else None)


def _checked(stage: Any, shape: tuple[int, ...], is_exact: bool) -> Stage:
    """Return what a schedule holds, if it is a stage that x of this shape and the engine have."""
    if not isinstance(stage, Stage):
        raise TypeError(f"schedule holds {stage!r}: give Stage(steps, resolution, patch)")
    if is_exact and stage != _of_exact(stage):
        raise ValueError(
            f"{stage} has a band, shared maps or patches of a table: leave them out for Exact()"
        )
    check_resolution(stage.resolution, shape)
    return stage


def _names(x: Any, y: Any, d: int) -> tuple[str, ...]:
    """Return the names of d columns of x and, after them, of y, if either has names."""
    l = 0 if y is None else math.prod(np.shape(y)[1:])
    names, given = column_names(x), column_names(y)
    if not names and not given:
        return ()
    numbered = numbered_names(d, l)
    return (names or numbered[:d]) + (given or numbered[d:])


def _columns(shape: tuple[int, ...], condition: Condition) -> Tensor:
    """Return which coordinates of joined particles are columns, and not pixels or classes."""
    columns = torch.full((math.prod(shape) + condition.l,), len(shape) == 1)
    if condition.l:
        columns[-condition.l :] = not isinstance(condition, Label)
    return columns


def _strata(data: Tensor, condition: Condition) -> np.ndarray:
    """Return the class of each row, or zeros."""
    if isinstance(condition, Label):
        return condition.split(data)[1].cpu().numpy()
    return np.zeros(data.shape[1], dtype=int)
