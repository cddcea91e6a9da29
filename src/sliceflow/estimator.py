"""`SlicedFlow`: the estimator, with scikit-learn's conventions."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, overload

import numpy as np
import torch
from torch import Tensor

from sliceflow.codec._checks import column_names
from sliceflow.codec._codec import Codec, Output
from sliceflow.codec._conditions import Condition
from sliceflow.codec._regression import CANDIDATES, LINEAR, Candidate
from sliceflow.core._devices import check_device, cpu_by_default, own_device
from sliceflow.core._distributed import (
    Group,
    SingleProcess,
    common_seed,
    distributed_group,
    is_first_process,
)
from sliceflow.core._parameters import Parameters
from sliceflow.core._random import Draw, Random
from sliceflow.core._validation import (
    check_flag,
    check_integer,
    check_number,
    check_optional_integer,
    check_preset,
    check_resolution,
    check_shards,
)
from sliceflow.data._streams import Reader, Stream, StreamTarget
from sliceflow.flow._engines import Engine, Exact, Fast
from sliceflow.flow._flow import Flow
from sliceflow.flow._spec import Spec
from sliceflow.flow._starts import (
    GAUSSIAN_ROWS,
    MIN_BLENDED_ROWS,
    Blends,
    Gaussian,
    Noise,
    Start,
)
from sliceflow.flow._targets import ArrayTarget, Target, balanced, mixed
from sliceflow.flow.schedules import PRESETS, SHRINKING, Stage, by_name
from sliceflow.model import N_EXAMPLES, Model
from sliceflow.notebook._pictures import can_be_shown, picture_of
from sliceflow.runs._plan import Plan
from sliceflow.transport import KNOTS

_PROBED = 10_000
"""Number of rows of a stream from which units, labels and label frequencies are estimated."""

_MAX_PARTICLES = 10_000
"""Default number of particles, or the number of rows if that is smaller."""

_MAX_GIVEN_NUMBERS = 50_000
"""The same for a table given numbers, which has five for each row: maps have less noise then."""

_MAX_BATCH, _MAX_STREAMED_BATCH = 20_000, 10_000
"""Default maximum number of data rows that a step sees: in memory, and of a stream."""

STARTS: dict[str, Start] = {"gaussian": Gaussian(), "blends": Blends()}
"""Names of distributions where particles start."""


class SlicedFlow(Parameters):
    """Sample p(x) or p(x | y) by moving particles with a sliced-Wasserstein flow.

    There is no network: `fit` moves ``n_particles`` from noise onto the data and records how each
    step moves them; `sample` moves new particles the same way, which takes much less time. Columns
    of tables are scaled to mean 0 and standard deviation 1 for the fit, and samples are scaled
    back; pixels are not.

    Parameters
    ----------
    n_particles : int, optional
        The number of particles, M. By default the number of rows of data, but at most 10,000. A
        table given numbers has five for each row, at most 50,000, as their maps have less noise.
    schedule : int, "quick", "standard", "best" or sequence of Stage, optional
        The schedule: a number of steps with directions of all of x, a preset, or a list of stages.
        More steps bring particles closer to the data. By default "standard": 100 steps for a table
        or, given numbers, 1,000 that shrink; a pyramid of levels for images. The last level should
        be the image itself: detail that no level sees stays noise.
    engine : Fast or Exact, optional
        How a step is done: `Fast` by default; `Exact` is the paper's.
    start : float, "gaussian" or "blends", optional
        Where particles start: noise of this standard deviation, a Gaussian with the mean and the
        covariance of the data, or blends: sums of sixteen rows of a cluster, which have them too.
        Each class has its own. By default 1 for tables, "gaussian" for tables given numbers, 0.01
        for grey images, "blends" for colour images, and "gaussian" for those that are partly
        observed, are given numbers, or have a class of less than about a thousand images.
        Grey images that are partly observed start from 1: if the observed part outweighed the
        noise, all samples given the same part would be alike.
    y_type : "labels", "numbers" or None
        What y is. By default, strings and booleans are labels. One column of whole numbers is
        labels if it has at most 100 different ones, each occurring at least twice on average.
        Everything else is numbers. Several columns may be words and numbers together.
    amplifier : float, optional
        The paper's weight of y, ξ. By default 10 for labels, as in the paper. For numbers, giving
        it means the paper's way: by default, tables are predicted from numbers by a regression, and
        the flow moves its residuals. In the paper's way, also by `Exact`, the defaults of
        ``n_particles``, ``schedule`` and ``start`` are those of other tables. With `Exact`, and for
        images, numbers have weight 1.
    balanced : bool
        Whether all labels have the same number of particles. By default they are as frequent as in
        the data.
    observed : bool array of the shape of one row of x, or the name of a half, optional
        The coordinates of x that are given when sampling, the same for all rows: inpainting. Or
        the half of the images that is given: "left", "right", "top" or "bottom". If given columns
        of a table are numbers, y is better: a regression uses it.
    batch_size : int, optional
        The maximum number of data rows that a step sees. Larger data is cut into equal parts, and
        one is drawn for each step or, at a resolution, for each stage. By default 20,000, and
        10,000 for a stream.
    knots : int or None
        The number of knots with which the map of each direction is recorded, for `sample`. More
        knots are more accurate, and take more memory. None records nothing: then the only samples
        are the particles of the fit.
    device : str or torch.device
        The device to run on.
    random_state : int, NumPy generator or None
        The seed. The same one gives the same bits on any number of threads.

    Attributes
    ----------
    particles_ : array, (n_particles, ...)
        The particles after `fit`: the paper's batched samples. In few dimensions, with one particle
        for each row, they end near the rows themselves; samples from `sample` keep more distance.
        If many processes share the fit, each has its own particles.
    conditions_ : array or None
        The labels or columns of the particles, distributed as in the data.
    classes_ : array or None
        The labels that occur in y, if it is labels.
    model_ : Model or None
        The recorded flow, from which samples are drawn without the data.
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
        batch_size: int | None = None,
        knots: int | None = KNOTS,
        device: str | torch.device = "cpu",
        random_state: Any = None,
    ) -> None:
        self.n_particles = n_particles
        self.schedule = schedule
        self.engine = engine
        self.start = start
        self.y_type = y_type
        self.amplifier = amplifier
        self.balanced = balanced
        self.observed = observed
        self.batch_size = batch_size
        self.knots = knots
        self.device = device
        self.random_state = random_state

    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        checkpoints: str | Path | None = None,
        checkpoint_minutes: float = 10.0,
        distributed: bool = False,
        shards: int | None = None,
        verbose: bool = False,
    ) -> Self:
        """Move particles from noise onto the data.

        Parameters
        ----------
        x : array or tensor, (n, d) or (n, C, h, w), or stream
            Rows of a table, in any units, or images: bytes from 0 to 255, for which samples are
            bytes too, or floats of about −1 to 1. A `sliceflow.data.stream` has both x and y.
        y : array or tensor, (n,) or (n, l), optional
            What to condition on: labels or numbers, or columns of both; see ``y_type``.
        checkpoints : path, optional
            A folder in which the state is saved at intervals, on SIGTERM and on Ctrl-C. The same
            fit then resumes from there, with the same bits. The last two checkpoints are kept.
        checkpoint_minutes : float
            Minutes between two checkpoints.
        distributed : bool
            Share the fit among the processes that a launcher started, such as
            ``python -m sliceflow.launch``. By default each process fits alone.
        shards : int, optional
            The number of parts into which particles and data are cut, for processes to share. The
            same number of shards gives the same bits on any number of processes. By default 1; if
            distributed, 64, but at most the number of particles and of rows, or of a stream's
            blocks.
        verbose : bool
            Show progress.
        """
        if checkpoints is not None and self.random_state is None:
            raise ValueError("checkpoints belong to one seed: pass random_state=0, for example")
        plan = self.plan(x, y, distributed=distributed, shards=shards, verbose=verbose)
        state = plan.run((), checkpoints, checkpoint_minutes, verbose)
        model, (particles, conditions) = plan.model(state), plan.samples(state)
        # Set only now, so that a fit that fails leaves a fitted estimator unchanged.
        self.classes_, self.seed_ = plan.codec.classes, plan.flow.spec.seed
        self.n_features_in_ = math.prod(plan.codec.shape)
        self.model_, self.particles_, self.conditions_ = model, particles, conditions
        self._set_feature_names(column_names(x))
        return self

    @cpu_by_default()
    def plan(
        self,
        x: Any,
        y: Any = None,
        *,
        distributed: bool = False,
        shards: int | None = None,
        verbose: bool = False,
    ) -> Plan:
        """Check data and parameters, and return a plan of the fit that can be run and watched.

        The regression of a table given numbers is part of this, which may take half a minute.
        """
        for name in ("n_particles", "batch_size"):  # before the regression, which takes time
            check_optional_integer(name, getattr(self, name), 2)
        seed = common_seed(self.random_state, distributed)
        stream = x if isinstance(x, Stream) else None
        if stream is not None:
            if y is not None:
                raise ValueError("a stream has its own y: name its columns there, and leave it out")
            x, y = stream.draw(Random(seed, Draw.PROBE), _PROBED)
        codec, data = Codec.fit_encode(
            *(x, y, self.y_type, self.amplifier, self.observed),
            self._candidates(stream),
            verbose and is_first_process(),
        )
        if check_flag("balanced", self.balanced) and codec.condition.n_groups == 1:
            raise ValueError("balanced=True is for labels, and y is not labels: leave it out")
        n = len(x) if stream is None else len(stream)
        m = self._count_particles(n, codec.condition)
        group = _group(min(m, n if stream is None else stream.n_blocks), distributed, shards)
        if stream is None:
            targets: Sequence[Target] = self._targets(data, codec, seed, group)
        else:
            targets = self._streamed(stream, data, codec, group)
        is_near = self._has_blends(codec, data, n)
        return Plan(self._flow(targets, codec, seed, group, is_near), codec, m, n)

    @overload
    def sample(
        self,
        n: int,
        y: Any = ...,
        random_state: Any = ...,
        *,
        verbose: bool = ...,
        output: Literal["numpy"],
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
    ) -> Any: ...
    def sample(
        self,
        n: int,
        y: Any = None,
        random_state: Any = None,
        *,
        verbose: bool = False,
        output: Output = None,
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
        """
        return self._fitted().sample(
            n, y, random_state, verbose=verbose, output=output, device=self.device
        )

    def save(
        self, path: str | Path, about: str = "", metrics: Mapping[str, float] | None = None
    ) -> None:
        """Write the model to a file, which `sliceflow.load` reads; see `Model.save`."""
        self._fitted().save(path, about, metrics)

    def show(self, n: int | None = None, y: Any = None, random_state: Any = None) -> Any:
        """Return new samples to look at; see `Model.show`."""
        return self._fitted().show(n, y, random_state)

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows, or None for the plain `repr`."""
        model: Model | None = getattr(self, "model_", None)
        if model is None:
            return None
        # particles are at hand, unlike samples
        is_shown = can_be_shown(model.shape)
        picture = picture_of(self.particles_[:N_EXAMPLES]) if is_shown else None
        return model.panel(repr(self), picture).html()

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise ValueError("this SlicedFlow is not fitted: call fit(x) or fit(x, y) first")
        if self.model_ is None and self.knots is not None:
            raise ValueError(
                "only the first process has the model: use it there, or save it and load it here"
            )
        if self.model_ is None:
            raise ValueError("this fit was not recorded: pass knots=64 and fit again")
        return self.model_

    def _set_feature_names(self, names: tuple[str, ...]) -> None:
        """Set the attribute only if there are names, as scikit-learn does."""
        self.__dict__.pop("feature_names_in_", None)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _flow(
        self, targets: Sequence[Target], codec: Codec, seed: int, group: Group, is_near: bool
    ) -> Flow:
        """Check the parameters and make the flow to these targets, which blends may be near to."""
        start = self._initial(codec.shape, codec.condition, is_near)
        stages = self._stages(codec.shape, codec.condition, is_near and isinstance(start, Blends))
        spec = Spec(codec.shape, stages, codec.condition, self._engine(group.shards), seed)
        knots = check_optional_integer("knots", self.knots, 2)
        return Flow(spec, targets, start, knots, group)

    def _has_blends(self, codec: Codec, data: Tensor, n: int) -> bool:
        """Return whether blends of colour images are given all that is given, and have the rows.

        Of n rows, all or a few are in ``data``, (D, N).
        """
        condition = codec.condition
        is_given_more = condition.mask is not None or (condition.l and condition.n_groups == 1)
        if codec.shape[0] == 1 or len(codec.shape) == 1 or is_given_more:
            return False
        counts = torch.bincount(condition.groups(data), minlength=condition.n_groups)
        shares = counts / counts.sum()
        drawn = torch.full_like(shares, 1 / len(shares)) if self.balanced else shares
        rows = torch.minimum(shares * n, drawn * min(n, GAUSSIAN_ROWS)).min()
        return bool(rows >= 2 * MIN_BLENDED_ROWS)

    def _targets(self, data: Tensor, codec: Codec, seed: int, group: Group) -> list[ArrayTarget]:
        """Return the shards of the data, (D, N), that this process has."""
        rng, labels = Random(seed, Draw.ORDER), codec.condition.groups(data).numpy()
        if self.balanced:
            rows = balanced(rng, labels)
            data, labels = data[:, rows], labels[rows]
        data = data[:, mixed(rng, labels)]
        device, each = self._device(group), self._batch_size(_MAX_BATCH, group)
        cuts = group.cuts(data.shape[1])
        return [ArrayTarget(data[:, own].to(device), each, codec.n_pixels) for own in cuts]

    def _streamed(
        self, stream: Stream, probed: Tensor, codec: Codec, group: Group
    ) -> list[StreamTarget]:
        """Return the shards of a stream that this process has.

        Labels are as frequent as in the probed rows, unless they are balanced.
        """
        each, reader, shares = self._batch_size(_MAX_STREAMED_BATCH, group), Reader(), None
        if codec.condition.n_groups > 1:
            labels = codec.condition.groups(probed).numpy()
            counts = np.bincount(labels, minlength=codec.condition.n_groups)
            shares = np.ones(len(counts)) if self.balanced else counts
        blocks, device = np.arange(stream.n_blocks), self._device(group)
        return [
            StreamTarget(
                stream.blocks, blocks[v :: group.shards], each, codec, reader, shares, device
            )
            for v in group.own
        ]

    def _candidates(self, stream: Stream | None) -> tuple[Candidate, ...]:
        """Return how x is predicted from numbers y: not at all by the paper's engine.

        Rows of a stream are encoded anew in each step, so that their regression must take no time.
        """
        if isinstance(self.engine, Exact):
            return ()
        return CANDIDATES if stream is None else LINEAR

    def _count_particles(self, n: int, condition: Condition) -> int:
        """Return the number of particles for n rows."""
        most, times = (_MAX_GIVEN_NUMBERS, 5) if condition.n_summary else (_MAX_PARTICLES, 1)
        default = min(times * n, most)
        return check_integer(
            "n_particles", default if self.n_particles is None else self.n_particles, 2
        )

    def _device(self, group: Group) -> torch.device:
        device = check_device(self.device)
        return own_device(device) if group.size > 1 else device

    def _batch_size(self, default: int, group: Group) -> int:
        """Return the maximum number of rows of each shard that a step sees."""
        size = default if self.batch_size is None else self.batch_size
        return math.ceil(check_integer("batch_size", size, 2) / group.shards)

    def _engine(self, shards: int) -> Engine:
        if self.engine is None:
            return Fast()
        if not isinstance(self.engine, Fast | Exact):
            raise TypeError(f"engine={self.engine!r} is not an engine: pass Fast() or Exact()")
        if isinstance(self.engine, Exact) and shards > 1:
            raise ValueError(
                "Exact() sorts all values in one place and has no shards: pass Fast(), or leave "
                "out shards and distributed"
            )
        return self.engine

    def _initial(self, shape: tuple[int, ...], condition: Condition, is_near: bool) -> Start:
        start = self.start
        if start is None and condition.n_summary:
            start = "gaussian"
        if start is None:
            grey = 0.01 if self.observed is None else 1.0
            colour = "blends" if is_near else "gaussian"
            start = 1.0 if len(shape) == 1 else grey if shape[0] == 1 else colour
        if isinstance(start, str):
            if start not in STARTS:
                raise ValueError(
                    f'start={start!r}: pass "gaussian", "blends" or a standard deviation'
                )
            return STARTS[start]
        return Noise(check_number("start", start, positive=True))

    def _stages(
        self, shape: tuple[int, ...], condition: Condition, is_near: bool
    ) -> tuple[Stage, ...]:
        """Return the schedule as stages, if they fit the shape of x."""
        schedule = "standard" if self.schedule is None else self.schedule
        is_exact = isinstance(self.engine, Exact)
        if isinstance(schedule, str):
            given_numbers, is_near = condition.n_summary > 0, is_near and not is_exact
            stages = by_name(check_preset(schedule, PRESETS), shape, given_numbers, is_near)
            return tuple(map(_of_exact, stages)) if is_exact else stages
        if isinstance(schedule, Stage):
            raise TypeError(f"schedule={schedule} is one stage: put it in a list")
        if not isinstance(schedule, Sequence):
            steps = check_integer("schedule", schedule, 1)
            return (Stage(steps, step_size=SHRINKING if condition.n_summary else 1.0),)
        if not schedule:
            raise ValueError("schedule is empty: give a number of steps or at least one Stage")
        return tuple(_checked(stage, shape, is_exact, condition) for stage in schedule)


def _group(max_shards: int, distributed: bool, shards: int | None) -> Group:
    """Return the processes that share a fit, which can be cut into at most ``max_shards``."""
    wanted = check_optional_integer("shards", shards, 1)
    if check_flag("distributed", distributed):
        group: Group = distributed_group(wanted, max_shards)
    else:
        group = SingleProcess(wanted or 1)
    check_shards(group.shards, max_shards, group.size)
    return group


def _of_exact(stage: Stage) -> Stage:
    """Return a stage without the settings that only the fast engine has."""
    patch = stage.patch if stage.resolution else None
    return Stage(stage.steps, stage.resolution, patch, step_size=stage.step_size)


def _checked(stage: Any, shape: tuple[int, ...], is_exact: bool, condition: Condition) -> Stage:
    """Return an item of a schedule, if it is a stage that suits x, the engine and the condition."""
    if not isinstance(stage, Stage):
        raise TypeError(f"schedule holds {stage!r}: give Stage(steps, resolution, patch)")
    if is_exact and stage != _of_exact(stage):
        raise ValueError(
            f"{stage} has a band, shared maps or patches of a table: leave them out for Exact()"
        )
    if condition.n_summary and (stage.band is not None or stage.shared):
        raise ValueError(
            f"{stage} has a band or shared maps, which a table given numbers does not use: leave "
            "them out"
        )
    check_resolution(stage.resolution, shape)
    return stage
