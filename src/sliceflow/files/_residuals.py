"""The part of a model file that holds the regression of x on numbers y."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sliceflow.codec._conditions import Condition
from sliceflow.codec._modes import Modes
from sliceflow.codec._regression import KERNELS, NO_KERNELS, Candidate, Features, Regression
from sliceflow.codec._residuals import Residuals
from sliceflow.codec._scores import NormalScores
from sliceflow.codec._trees import DEPTH, FOLDS, NO_TREES, Trees, n_columns
from sliceflow.codec._units import Frame, Units
from sliceflow.core._reading import FileError
from sliceflow.core._validation import check_flag, check_number
from sliceflow.files._archive import Archive, Sizes
from sliceflow.files._tensors import as_tensors, tensors_of

NAME = "residuals.safetensors"
TREE_PARTS = ("tree_columns", "tree_cuts", "tree_values")


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
        **_tree_tensors(regression.trees),
        limits=residuals.limits,
        scale=residuals.scale,
        shift=residuals.shift,
    )


def _tree_tensors(trees: tuple[Trees | None, ...]) -> dict[str, Tensor]:
    """Return the trees of all targets one after the other, and how many each sequence has."""
    found = [each for each in trees if each is not None] or [NO_TREES]
    counts = [0 if each is None else each.values.shape[1] for each in trees]
    return {
        "tree_counts": torch.from_numpy(np.array(counts)),
        "tree_columns": torch.cat([each.columns.flatten(0, 1) for each in found]),
        "tree_cuts": torch.cat([each.cuts.flatten(0, 1) for each in found]),
        "tree_values": torch.cat([each.values.flatten(0, 1) for each in found]),
    }


def _trees(part: dict[str, Tensor], l: int) -> tuple[Trees | None, ...]:
    """Return the trees of each target, of l columns of y."""
    counts, columns = part["tree_counts"], part["tree_columns"]
    sizes = (FOLDS * counts).tolist()
    if (counts < 0).any() or {len(part[name]) for name in TREE_PARTS} != {sum(sizes)}:
        raise FileError("its trees do not fit what they predict")
    if ((columns < 0) | (columns >= n_columns(l))).any():
        raise FileError("its trees ask for columns that there are not")
    each = zip(*(torch.split(part[name], sizes) for name in TREE_PARTS), strict=True)
    return tuple(
        Trees(*(rows.unflatten(0, (FOLDS, -1)) for rows in parts)) if len(parts[0]) else None
        for parts in each
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
        **{"tree_counts": (targets,), "tree_columns": (None, DEPTH), "tree_cuts": (None, DEPTH)},
        **{"tree_values": (None, 2**DEPTH)},
        **{"scale": (targets, 1), "shift": (condition.n_summary, 1)},
    }
    part = tensors_of(archive, NAME, sizes)
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
    widths = [candidate.n_features(l, m) for candidate in candidates]
    if not candidates or sum(widths) != len(part["coefficients"]):
        raise FileError("its coefficients do not fit its kernels")
    y_scores = _scores(part["y_values"], part["y_scores"])
    features = Features(y_scores, part["centres"], part["metrics"])
    coefficients = torch.split(part["coefficients"], widths)
    return Regression(features, candidates, coefficients, _trees(part, l))


def _candidate(row: list[Any]) -> Candidate:
    as_scores, kernel, width, has_metric = row
    if kernel not in (*NO_KERNELS, *(name for name, *_ in KERNELS)):
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
