"""What a fit leaves in its folder: model, samples, film and report."""

import numpy as np

from sliceflow.cli.files import conditions, filled, save_filled, save_samples
from sliceflow.cli.source import Source
from sliceflow.conditions import Observed
from sliceflow.course import State
from sliceflow.io import save
from sliceflow.model import FlowModel
from sliceflow.plan import Plan
from sliceflow.report import write_report
from sliceflow.runs import COMPARED, SHOWN, Run


def finish(run: Run, title: str, plan: Plan, state: State, source: Source) -> None:
    """Save all that a run has to show, and say where it is."""
    model = plan.model(state)
    assert model is not None
    save(model, run.model, about=title)
    samples = shown(run, model, source)
    run.save_film()
    write_report(run, title, model, source.x, samples)
    verb = "inpaint" if isinstance(model.condition, Observed) else "sample"
    print(f"{run.folder} has the model and its samples: open {run.report}")
    print(f"for more: sliceflow {verb} {run.folder}")


def shown(run: Run, model: FlowModel, source: Source) -> np.ndarray:
    """Draw samples of the model, write them to the folder, and return them."""
    if isinstance(model.condition, Observed):
        images = source.x[:10]
        samples = filled(model, images, n=8, seed=model.seed)
        save_filled(run.samples_of(model.shape), model, images, samples)
        return samples.reshape(-1, *model.shape)
    n = SHOWN if len(model.shape) == 3 else min(len(source.x), COMPARED)
    if source.y is None or model.classes is not None:
        y = conditions(model, None, n)
    else:
        y = source.y[np.arange(n) % len(source.y)]
    drawn: np.ndarray = model.sample(n, y)
    save_samples(run.samples_of(model.shape), model, drawn, y)
    return drawn
