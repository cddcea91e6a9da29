"""The part of a model file that holds the regression of x on numbers y."""

from typing import Any

import torch
from torch import Tensor

from sliceflow.codec._conditions import Condition
from sliceflow.codec._regression import KERNELS, Candidate, Features, Regression
from sliceflow.codec._residuals import Residuals
from sliceflow.codec._scores import NormalScores
from sliceflow.codec._units import Units
from sliceflow.core._reading import FileError
from sliceflow.core._validation import check_flag, check_number
from sliceflow.files._archive import Archive, Sizes, as_tensors

NAME = "residuals.safetensors"


def residual_part(residuals: Residuals) -> tuple[str, bytes]:
    """Return the name and the bytes of the part."""
    regression = residuals.regression
    units, features = residuals.units, regression.features
    return NAME, as_tensors(
        values=units.scores.values,
        scores=units.scores.scores,
        kept=units.kept,
        y_values=features.scores.values,
        y_scores=features.scores.scores,
        centres=features.centres,
        coefficients=torch.cat(regression.coefficients),
        limits=residuals.limits,
        scale=residuals.scale,
        shift=residuals.shift,
    )


def read_residuals(archive: Archive, condition: Condition, d: int) -> Residuals:
    """Read the regression of d columns on the numbers of a condition."""
    candidates = tuple(_candidate(row) for row in archive.config["candidates"])
    l, k = condition.l, condition.n_summary
    targets = d + k
    sizes: Sizes = {
        "values": (d, None),
        "scores": (None,),
        "kept": (d,),
        "y_values": (l, None),
        "y_scores": (None,),
        "centres": (None, l),
        "coefficients": (None, targets),
        "limits": (2, targets),
        "scale": (targets, 1),
        "shift": (k, 1),
    }
    part = archive.tensors(NAME, sizes)
    if not (part["scale"] > 0).all() or (part["limits"][0] > part["limits"][1]).any():
        raise FileError("its residuals have no scale, or no limits")
    features = Features(_scores(part["y_values"], part["y_scores"]), part["centres"])
    widths = [1 + l + len(part["centres"]) * candidate.has_kernel for candidate in candidates]
    if k < d or not candidates or sum(widths) != len(part["coefficients"]):
        raise FileError("its summary of y does not fit its regression")
    regression = Regression(features, candidates, torch.split(part["coefficients"], widths))
    units = Units(_scores(part["values"], part["scores"]), part["kept"])
    return Residuals(units, regression, part["limits"], part["scale"], part["shift"])


def _candidate(row: list[Any]) -> Candidate:
    as_scores, kernel, width = row
    if kernel not in ("linear", *(name for name, _ in KERNELS)):
        raise FileError(f"its kernel {kernel} is unknown")
    return Candidate(
        check_flag("as_scores", as_scores), kernel, check_number("width", width, positive=True)
    )


def _scores(values: Tensor, scores: Tensor) -> NormalScores:
    ascend = (values.diff(dim=1) >= 0).all() and (scores.diff() > 0).all()
    if not ascend or len(scores) != values.shape[1] or len(scores) < 2:
        raise FileError("its normal scores do not ascend")
    return NormalScores(values, scores)
