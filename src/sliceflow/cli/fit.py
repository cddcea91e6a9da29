"""`sliceflow fit`: from data to a run folder with a model in it."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml
from torch.distributed import is_torchelastic_launched

from sliceflow._atomic import write_text
from sliceflow._ending import WRONG_USE, end
from sliceflow._terminal import say
from sliceflow._validation import check_number, check_seed
from sliceflow.board import Board
from sliceflow.cli.options import STARTED, Fit
from sliceflow.cli.results import finish
from sliceflow.cli.source import Source, asked_for, read
from sliceflow.course import Callback, State
from sliceflow.distributed import group
from sliceflow.estimator import SlicedFlow
from sliceflow.forecast import Forecast, rehearse
from sliceflow.plan import Plan
from sliceflow.runs import Run, Watcher, rows_to_compare
from sliceflow.schedules import Stage, by_name, scaled

# To be deleted once `SlicedFlow` has the same defaults.
N_PARTICLES, BATCH_SIZE = 10_000, 20_000
"""Maximum number of particles, and of rows of data in each step, by default."""

OF_A_CALL = ("resume", "dry_run", "minutes", "json", "tensorboard", "out")
"""Options that are not part of what a run is. Minutes become an effort."""


def run(options: Fit) -> None:
    """Fit, or tell what it would take."""
    if options.json and not options.dry_run:
        raise ValueError("--json is what a dry run prints: pass --dry-run as well, or leave it out")
    _check_launcher(options)
    if options.distributed and (options.dry_run or options.minutes is not None):
        raise ValueError("--dry-run and --minutes are for one process: try it without the launcher")
    if options.dry_run:
        tell(seeded(options))
        return
    place = Run(options.out or Path("runs", Path(options.data).resolve().stem))
    if place.model.exists() and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0":
        return  # the attempt before this one had written it when it was killed
    is_first = not is_torchelastic_launched() or os.environ["RANK"] == "0"
    with place.locked() if is_first else nullcontext():
        fit(seeded(going_on(options, place)), place)


def _check_launcher(options: Fit) -> None:
    """Refuse a fit of many processes that was not asked for, and one without them."""
    if is_torchelastic_launched() and not options.distributed:
        line = "it was started by a launcher: pass --distributed to share the fit among processes"
        end(f"sliceflow fit: {line}", WRONG_USE)  # after which the launcher does not try again
    if options.distributed and not is_torchelastic_launched():
        raise ValueError(
            "--distributed needs a launcher: start it as python -m sliceflow.launch -m sliceflow "
            "fit ..., or leave it out"
        )


def seeded(options: Fit) -> Fit:
    """Return the options with a seed, the same in all processes: if none is given, one is drawn."""
    if options.random_state is not None:
        return options
    (seed,) = group().most(check_seed(None))
    return replace(options, random_state=seed)


def tell(options: Fit) -> None:
    """Print what a fit would take."""
    source = read(options)
    plan = planned(options, source)
    forecast = rehearsed(options, plan, source)
    options, plan = timed(options, forecast, plan)
    print(told(forecast, plan, options.json))


def fit(options: Fit, place: Run) -> None:
    """Fit, and leave everything in the folder of the run."""
    source = read(options)
    plan = planned(options, source)
    plan.flow.group.most(0)  # all processes have looked at the folder before one writes to it
    rows = rows_to_compare(plan)
    if not plan.is_first:
        plan.run((), place.checkpoints)
        return
    if options.minutes is not None:
        options, plan = timed(options, rehearsed(options, plan, source), plan)
    board = Board(place.board) if options.tensorboard else None
    write_text(place.config, yaml.safe_dump(kept(options), sort_keys=False))
    watcher = Watcher(place, plan, rows, board)
    state = plan.run([watcher], place.checkpoints, verbose=True)
    finish(place, title(options), plan, state, source)
    shutil.rmtree(place.checkpoints)
    say(f"{place.folder} has the model and its samples: open {place.report}")


def title(options: Fit) -> str:
    """Return what a run is called."""
    return f"{options.data}, {options.schedule}"


def rehearsed(options: Fit, plan: Plan, source: Source) -> Forecast:
    """Do all that a run does, of few steps, in a folder that is forgotten."""
    with tempfile.TemporaryDirectory() as folder:
        place = Run(Path(folder))
        place.config.touch()

        def perform(short: Plan, count: Callback) -> State:
            watcher = Watcher(place, short, rows_to_compare(short))
            state = short.run([count, watcher], verbose=True)
            finish(place, title(options), short, state, source)
            return state

        return rehearse(plan, perform, age=perf_counter() - STARTED)


def planned(options: Fit, source: Source) -> Plan:
    """Return what the fit does."""
    effort = check_number("effort", options.effort, positive=True)
    rows = len(source.x if source.stream is None else source.stream)
    fitting = SlicedFlow(
        n_particles=min(rows, N_PARTICLES) if options.n_particles is None else options.n_particles,
        schedule=scaled(by_name(options.schedule, source.x.shape[1:]), effort),
        y_type=options.y_type,
        amplifier=options.amplifier,
        observed=source.observed,
        batch_size=BATCH_SIZE if options.batch_size is None else options.batch_size,
        random_state=options.random_state,
    )
    if source.stream is not None:
        return fitting.plan(source.stream)
    return replace(fitting.plan(source.x, source.y), names=source.names)


def timed(options: Fit, forecast: Forecast, plan: Plan) -> tuple[Fit, Plan]:
    """Return both with the effort that takes the minutes, if they are given."""
    if options.minutes is None:
        return options, plan
    spent = 0 if options.dry_run else forecast.rehearsal  # which a dry run does not take again
    times = forecast.effort(plan.flow.schedule, options.minutes, spent)
    options = replace(options, effort=options.effort * times, minutes=None)
    schedule = scaled(by_name(options.schedule, plan.flow.shape), options.effort)
    return options, replace(plan, flow=replace(plan.flow, schedule=schedule))


def kept(options: Fit) -> dict[str, Any]:
    """Return what a run is, as it is written down."""
    settings = {k: v for k, v in asdict(options).items() if k not in OF_A_CALL}
    as_text = {k: str(v) if isinstance(v, Path) else v for k, v in settings.items()}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in as_text.items()}


def going_on(options: Fit, place: Run) -> Fit:
    """Return the options, if their folder is free, or has the same run and it is to go on."""
    if is_torchelastic_launched():
        options = replace(options, resume=place.config.exists())  # maybe it is started again
    if not place.config.exists():
        if options.resume:
            raise ValueError(f"{place.folder} has no run to go on with: leave out --resume")
        return options
    if place.model.exists():
        raise ValueError(f"the run in {place.folder} has ended: pass another --out, or delete it")
    if not options.resume:
        raise ValueError(f"{place.folder} has a run: pass --resume to go on, or another --out")
    before = kept(asked_for(place))
    if options.random_state is None:
        options = replace(options, random_state=before["random_state"])
    if options.minutes is not None:
        options = replace(options, effort=before["effort"], minutes=None)
    for name, value in kept(options).items():
        if before[name] != value:
            raise ValueError(
                f"the run in {place.folder} has another {name}, {before[name]}: to go on with "
                f"it, {place.resume()}"
            )
    return options


def told(forecast: Forecast, plan: Plan, as_json: bool) -> str:
    """Return the schedule, how long it takes, how much memory, and how large the model gets."""
    schedule = plan.flow.schedule
    seconds, memory = forecast.seconds(schedule), forecast.memory(schedule)
    model = forecast.model(schedule)
    if as_json:
        stages = [asdict(stage) for stage in schedule]
        found = {"seconds": seconds, "bytes": memory, "model_bytes": model, "stages": stages}
        return json.dumps(found)
    about = f"about {seconds / 60:.1f} minutes and {memory / 2**30:.1f} GiB"
    last = f"{plan.n_particles:,} particles: {about}, and a model of {model / 1e6:.0f} MB"
    return "\n".join([*by_level(forecast, schedule), last])


def by_level(forecast: Forecast, schedule: tuple[Stage, ...]) -> Iterator[str]:
    """Yield a line for each level of a schedule."""
    yield "level  patches      steps   seconds"
    pairs = zip(schedule, forecast.steps, strict=True)
    for level, rows in groupby(pairs, lambda pair: pair[0].resolution):
        row = list(rows)
        patches = ", ".join(str(stage.patch or "all") for stage, _ in row)
        steps = sum(stage.steps for stage, _ in row)
        took = sum(stage.steps * each for stage, each in row)
        yield f"{level or 'all':5}  {patches:10} {steps:7} {took:9.1f}"
