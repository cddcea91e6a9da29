"""The part of a model file that holds the regression of x on numbers y."""

from typing import Any

import torch
from torch import Tensor

from sliceflow.codec._conditions import Condition
from sliceflow.codec._modes import Modes
from sliceflow.codec._regression import KERNELS, Candidate, Features, Regression
from sliceflow.codec._residuals import Residuals
from sliceflow.codec._scores import NormalScores
from sliceflow.codec._units import Frame, Units
from sliceflow.core._reading import FileError
from sliceflow.core._validation import check_flag, check_number
from sliceflow.files._archive import Archive, Sizes, as_tensors

NAME = "residuals.safetensors"


def residual_part(residuals: Residuals) -> tuple[str, bytes]:
    """Return the name and the bytes of the part."""
    regression = residuals.regression
    units, features = residuals.frame.units, regression.features
    return NAME, as_tensors(
        values=units.scores.values,
        scores=units.scores.scores,
        kept=units.kept,
        axes=residuals.frame.axes,
        modes=residuals.modes.columns,
        slack=residuals.modes.slack,
        u_values=residuals.u_units.scores.values,
        u_scores=residuals.u_units.scores.scores,
        u_kept=residuals.u_units.kept,
        y_values=features.scores.values,
        y_scores=features.scores.scores,
        centres=features.centres,
        metrics=features.metrics,
        coefficients=torch.cat(regression.coefficients),
        limits=residuals.limits,
        scale=residuals.scale,
        shift=residuals.shift,
    )


def read_residuals(archive: Archive, condition: Condition, d: int) -> Residuals:
    """Read the regression of d columns on the numbers of a condition."""
    l, targets = condition.l, d + condition.n_summary
    sizes: Sizes = {
        **{"values": (d, None), "scores": (None,), "kept": (d,)},
        **{"axes": (d, d), "modes": (None,), "slack": (None, 1)},
        **{"u_values": (d, None), "u_scores": (None,), "u_kept": (d,)},
        **{"y_values": (l, None), "y_scores": (None,), "centres": (None, l)},
        **{"metrics": (None, l, l), "coefficients": (None, targets), "limits": (2, targets)},
        **{"scale": (targets, 1), "shift": (condition.n_summary, 1)},
    }
    part = archive.tensors(NAME, sizes)
    if not (part["scale"] > 0).all() or (part["limits"][0] > part["limits"][1]).any():
        raise FileError("its residuals have no scale, or no limits")
    if condition.n_summary < d + len(part["modes"]):
        raise FileError("its summary of y does not fit its columns")
    units, u_units = (
        Units(_scores(part[f"{of}values"], part[f"{of}scores"]), part[f"{of}kept"])
        for of in ("", "u_")
    )
    return Residuals(
        Frame(units, part["axes"]),
        _modes(part["modes"], part["slack"], d),
        _regression(archive.config["candidates"], part),
        part["limits"],
        part["scale"],
        part["shift"],
        u_units,
    )


def _modes(columns: Tensor, slack: Tensor, d: int) -> Modes:
    inside = ((columns >= 0) & (columns < d)).all() and (columns.diff() > 0).all()
    if not inside or len(slack) != len(columns):
        raise FileError("its columns with two modes do not fit its columns")
    return Modes(columns, slack)


def _regression(rows: list[list[Any]], part: dict[str, Tensor]) -> Regression:
    candidates = tuple(_candidate(row) for row in rows)
    if any(candidate.has_metric for candidate in candidates) != (len(part["metrics"]) == 2):
        raise FileError("it has kernels without their metric, or the reverse")
    m, l = part["centres"].shape
    widths = [1 + l + m * candidate.has_kernel for candidate in candidates]
    if not candidates or sum(widths) != len(part["coefficients"]):
        raise FileError("its coefficients do not fit its kernels")
    y_scores = _scores(part["y_values"], part["y_scores"])
    features = Features(y_scores, part["centres"], part["metrics"])
    return Regression(features, candidates, torch.split(part["coefficients"], widths))


def _candidate(row: list[Any]) -> Candidate:
    as_scores, kernel, width, has_metric = row
    if kernel not in ("linear", *(name for name, *_ in KERNELS)):
        raise FileError(f"its kernel {kernel} is unknown")
    return Candidate(
        check_flag("as_scores", as_scores),
        kernel,
        check_number("width", width, positive=True),
        check_flag("has_metric", has_metric),
    )


def _scores(values: Tensor, scores: Tensor) -> NormalScores:
    ascend = (values.diff(dim=1) >= 0).all() and (scores.diff() > 0).all()
    if not ascend or len(scores) != values.shape[1] or len(scores) < 2:
        raise FileError("its normal scores do not ascend")
    return NormalScores(values, scores)
