"""`sliceflow fit`: fit a model to data, and save it in the folder of a run."""

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

from sliceflow.cli._options import STARTED, Fit
from sliceflow.cli._results import save_results
from sliceflow.cli._source import Source, fit_options, read
from sliceflow.cli._tables import check_options, fit_table, is_for_table
from sliceflow.core._atomic import write_text
from sliceflow.core._distributed import common_seed, is_first_process
from sliceflow.core._exits import WRONG_USE, exit_with
from sliceflow.core._terminal import print_safely
from sliceflow.estimator import SlicedFlow
from sliceflow.flow._state import Callback, State
from sliceflow.flow.schedules import Stage
from sliceflow.runs._forecast import Forecast, rehearse
from sliceflow.runs._plan import Plan
from sliceflow.runs._run import Run, RunLogger, rows_to_compare
from sliceflow.runs._tensorboard import TensorBoardWriter

NOT_SAVED = ("resume", "dry_run", "minutes", "json", "tensorboard", "out")
"""Options that do not belong in config.yaml. Minutes are saved as an effort."""


def run(options: Fit) -> None:
    """Fit, or print a forecast."""
    if options.json and not options.dry_run:
        raise ValueError("--json is for dry runs: add --dry-run, or leave it out")
    _check_launcher(options)
    if is_for_table(options):
        check_options(options)
    if options.dry_run:
        dry_run(seeded(options))
    else:
        fit_in(Run(options.out or Path("runs", Path(options.data).resolve().stem)), options)


def _check_launcher(options: Fit) -> None:
    """Refuse a fit by many processes that was not asked for, and one that has no launcher."""
    if is_torchelastic_launched() and (options.dry_run or options.minutes is not None):
        line = "--dry-run and --minutes need a single process: leave out the launcher"
        exit_with(f"sliceflow fit: {line}", WRONG_USE)  # so that the launcher does not retry
    if is_torchelastic_launched() and not options.distributed:
        line = "it was started by a launcher: pass --distributed to share the fit among processes"
        exit_with(f"sliceflow fit: {line}", WRONG_USE)
    if options.distributed and not is_torchelastic_launched():
        raise ValueError(
            "--distributed needs a launcher: start it as python -m sliceflow.launch -m sliceflow "
            "fit ..., or leave it out"
        )


def seeded(options: Fit) -> Fit:
    """Return the options with a seed. If none is given, all processes agree on a drawn one."""
    if options.random_state is not None:
        return options
    return replace(options, random_state=common_seed(None, options.distributed))


def dry_run(options: Fit) -> None:
    """Print how much time and memory a fit would take."""
    source = read(options)
    whole = make_plan(options, source)
    plan = whole.scaled(options.effort)
    forecast = measure(options, plan, source)
    options = within_budget(options, forecast, plan)
    print(format_forecast(forecast, whole.scaled(options.effort), options.json))


def fit_in(run: Run, options: Fit) -> None:
    """Fit in the folder of a run, which no other fit may use meanwhile."""
    if run.model.exists() and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0":
        return  # the previous attempt was killed after it had written the model
    with run.locked() if is_first_process() else nullcontext():
        fit(run, seeded(checked(run, options)))


def checked(run: Run, options: Fit) -> Fit:
    """Return the options of a fit if its folder is free, or holds the same run to be resumed."""
    if is_torchelastic_launched():
        options = replace(options, resume=run.config.exists())  # the launcher may have restarted it
    if not run.config.exists():
        if options.resume:
            raise ValueError(f"{run.folder} has no run to resume: leave out --resume")
        return options
    if options.update is not None:
        return resumed(run, options, but="update")
    if run.model.exists():
        raise ValueError(f"the run in {run.folder} is complete: pass another --out, or delete it")
    if not options.resume:
        raise ValueError(f"{run.folder} has a run: pass --resume to continue it, or another --out")
    return resumed(run, options)


def resumed(run: Run, options: Fit, but: str = "") -> Fit:
    """Return the options with the saved seed and effort; all others but one must be as saved."""
    saved = settings_of(fit_options(run))
    if options.random_state is None:
        options = replace(options, random_state=saved["random_state"])
    if options.minutes is not None:
        options = replace(options, effort=saved["effort"], minutes=None)
    for name, value in settings_of(options).items():
        if name != but and saved[name] != value:
            raise ValueError(
                f"the run in {run.folder} has {name} {saved[name]}, not {value}: to continue it, "
                f"use {run.resume()}"
            )
    return options


def settings_of(options: Fit) -> dict[str, Any]:
    """Return the options that define a run, as they are saved."""
    settings = {k: v for k, v in asdict(options).items() if k not in NOT_SAVED}
    as_text = {k: str(v) if isinstance(v, Path) else v for k, v in settings.items()}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in as_text.items()}


def fit(run: Run, options: Fit) -> None:
    """Fit, and save everything in the folder of the run."""
    if is_for_table(options):
        fit_table(run, options, settings_of(options))
        return
    source = read(options)
    whole = make_plan(options, source)
    plan = whole.scaled(options.effort)
    plan.flow.group.all_max(0)  # wait until all processes have looked into the folder
    rows = rows_to_compare(plan)
    if not plan.is_first:
        plan.run((), run.checkpoints)
        return
    if options.minutes is not None:
        options = within_budget(options, measure(options, plan, source), plan)
        plan = whole.scaled(options.effort)
    tensorboard = TensorBoardWriter(run.tensorboard) if options.tensorboard else None
    write_text(run.config, yaml.safe_dump(settings_of(options), sort_keys=False))
    logger = RunLogger(run, plan, rows, tensorboard)
    state = plan.run([logger], run.checkpoints, verbose=True)
    save_results(run, title(options), plan, state, source)
    shutil.rmtree(run.checkpoints)
    print_safely(f"saved the model and samples in {run.folder}: open {run.report}")


def title(options: Fit) -> str:
    """Return the title of a run."""
    return f"{options.data}, {options.schedule}"


def make_plan(options: Fit, source: Source) -> Plan:
    """Return the checked fit, ready to run, with the steps of an effort of 1."""
    estimator = SlicedFlow(
        n_particles=options.n_particles,
        schedule=options.schedule,
        y_type=options.y_type,
        amplifier=options.amplifier,
        observed=source.observed,
        batch_size=options.batch_size,
        device=options.device,
        random_state=options.random_state,
    )
    if source.stream is not None:
        return estimator.plan(source.stream, distributed=options.distributed, verbose=True)
    plan = estimator.plan(source.x, source.y, distributed=options.distributed, verbose=True)
    return plan.with_names(source.names)


def measure(options: Fit, plan: Plan, source: Source) -> Forecast:
    """Do everything that a fit does, with few steps and in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder))
        run.config.touch()

        def perform(short: Plan, count: Callback) -> State:
            logger = RunLogger(run, short, rows_to_compare(short))
            state = short.run([count, logger], verbose=True)
            save_results(run, title(options), short, state, source)
            return state

        return rehearse(plan, perform, age=perf_counter() - STARTED)


def within_budget(options: Fit, forecast: Forecast, plan: Plan) -> Fit:
    """Return the options with the effort that takes the given minutes, if there is a budget."""
    if options.minutes is None:
        return options
    spent = 0 if options.dry_run else forecast.rehearsal  # a real fit has spent this time already
    times = forecast.effort(plan.spec.schedule, options.minutes, spent)
    return replace(options, effort=options.effort * times, minutes=None)


def format_forecast(forecast: Forecast, plan: Plan, as_json: bool) -> str:
    """Return the schedule, the time, the memory, and the size of the model."""
    schedule = plan.spec.schedule
    seconds, memory = forecast.seconds(schedule), forecast.memory(schedule)
    model = forecast.model(schedule)
    if as_json:
        stages = [asdict(stage) for stage in schedule]
        found = {"seconds": seconds, "bytes": memory, "model_bytes": model, "stages": stages}
        return json.dumps(found)
    about = f"about {seconds / 60:.1f} minutes and {memory / 2**30:.1f} GiB"
    last = f"{plan.n_particles:,} particles: {about}, and a model of {model / 1e6:.0f} MB"
    return "\n".join([*level_lines(forecast, schedule), last])


def level_lines(forecast: Forecast, schedule: tuple[Stage, ...]) -> Iterator[str]:
    """Yield a line for each level of a schedule."""
    yield "level  patches      steps   seconds"
    pairs = zip(schedule, forecast.steps, strict=True)
    for level, group_of_level in groupby(pairs, lambda pair: pair[0].resolution):
        stages = list(group_of_level)
        patches = ", ".join(str(stage.patch or "all") for stage, _ in stages)
        steps = sum(stage.steps for stage, _ in stages)
        seconds = sum(stage.steps * step_seconds for stage, step_seconds in stages)
        yield f"{level or 'all':5}  {patches:10} {steps:7} {seconds:9.1f}"
