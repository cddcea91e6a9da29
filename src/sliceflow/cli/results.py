"""What a fit leaves in its folder: model, samples, film and report."""

import numpy as np

from sliceflow.cli.files import as_arrays, conditions, filled, save_filled, save_samples
from sliceflow.cli.source import Source, some
from sliceflow.loop import State
from sliceflow.model import Model
from sliceflow.plan import Plan
from sliceflow.report import write_report
from sliceflow.runs import COMPARED, SHOWN, Run

FILLED = 10
"""Images that are filled in to be looked at."""


def finish(run: Run, title: str, plan: Plan, state: State, source: Source) -> None:
    """Save all that a run has to show."""
    model = plan.model(state)
    assert model is not None
    samples = shown(run, model, source)
    run.save_film()
    write_report(run, title, model, source.x, samples)
    model.save(run.model, about=title)  # the last: a run that has it has ended


def shown(run: Run, model: Model, source: Source) -> np.ndarray:
    """Draw samples of the model, write them to the folder, and return them."""
    out, is_images = run.samples_of(model.shape), len(model.shape) == 3
    if model.codec.condition.mask is not None:
        images = some(source.x, FILLED)
        samples = filled(model, images, n=8, seed=model.spec.seed)
        save_filled(out, model, images, samples)
        return samples.reshape(-1, *model.shape)
    n = SHOWN if is_images else COMPARED
    by_class = is_images and model.codec.classes is not None
    y = conditions(model, None, n) if by_class or source.y is None else some(source.y, n)
    drawn = as_arrays(model.sample(n, y, model.spec.seed))
    save_samples(out, model, drawn, y)
    return drawn
