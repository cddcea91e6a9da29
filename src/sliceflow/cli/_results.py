"""What a fit saves in its folder: model, samples, animation and report."""

import numpy as np

from sliceflow.cli._samples import conditions, inpaint, save_inpainted, save_samples
from sliceflow.cli._source import Source, subsample
from sliceflow.flow._state import State
from sliceflow.model import Model
from sliceflow.runs._plan import Plan
from sliceflow.runs._report import write_report
from sliceflow.runs._run import N_COMPARED, N_SAMPLES, Run
from sliceflow.runs._samples import as_bytes

N_INPAINTED = 10
"""Number of images that are filled in for the report."""


def save_results(run: Run, title: str, plan: Plan, state: State, source: Source) -> None:
    """Save everything that a finished run has to show."""
    model = plan.model(state)
    assert model is not None
    samples = draw_samples(run, model, source)
    run.save_film()
    write_report(run, title, model, source.x, samples, source.y)
    model.save(run.model, about=title)  # comes last: a run with a model is complete


def draw_samples(run: Run, model: Model, source: Source) -> np.ndarray:
    """Draw samples of the model, save them in the folder, and return them."""
    out, is_images = run.samples_of(model.shape), len(model.shape) == 3
    if model.codec.condition.mask is not None:
        images = subsample(source.x, N_INPAINTED)
        samples = inpaint(model, images, n=8, seed=model.spec.seed)
        save_inpainted(out, model, images, samples)
        return samples.reshape(-1, *model.shape)
    n = N_SAMPLES if is_images else N_COMPARED
    by_class = is_images and model.codec.classes is not None
    y = conditions(model, None, n) if by_class or source.y is None else subsample(source.y, n)
    x = as_bytes(model.sample(n, y, model.spec.seed, output="numpy"))
    save_samples(out, model, x, y)
    return x
