"""Checks of arrays, labels and data frames. Errors say what is wrong and how to fix it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sliceflow.codec._kinds import MAX_EXACT, Kind
from sliceflow.core._validation import MAX_MAGNITUDE
from sliceflow.core._warnings import warn_user

MAX_BRIGHTNESS = 16.0
"""Largest allowed value in images of floats, which are expected to be about −1 to 1."""

MAX_LABELS = 100
"""Integers are labels if there are at most this many different ones."""

MAX_CLASSES = 1000
"""Maximum number of classes: a label is a one-hot vector, which should not outgrow x."""


def check_numbers(x: Any, name: str) -> Tensor:
    """Return real numbers as a tensor of any shape, as float32 or float64."""
    if isinstance(x, Tensor):
        if x.layout != torch.strided:
            raise TypeError(f"{name} is sparse: a dense tensor is required, pass {name}.to_dense()")
        values = x.detach()
        if not x.is_floating_point() and not x.is_complex():
            _check_exact(values.cpu().numpy(), name)
        if x.dtype != torch.float32 and not x.is_complex():
            values = values.to(torch.float32 if x.element_size() <= 2 else torch.float64)
    else:
        array = _numeric_array(x, name)
        if array.dtype.kind in "iu":
            _check_exact(array, name)
        wide = np.result_type(array, np.float32)
        values = torch.from_numpy(np.array(array, dtype=np.float64 if wide.char == "g" else wide))
    if values.is_complex():
        raise ValueError(f"Complex data not supported: pass {name}.real and {name}.imag as columns")
    return values


def check_rows(x: Any, name: str = "x") -> Tensor:
    """Return finite rows (n, d) or images (n, C, h, w)."""
    values = check_numbers(x, name)
    if values.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead: {name} has shape {tuple(values.shape)}. "
            f"Reshape your data: {name}.reshape(-1, 1) for one column of many rows."
        )
    if values.ndim == 3:
        raise ValueError(
            f"{name} has shape {tuple(values.shape)}: images need a channel axis, "
            f"{name}[:, None] for grey ones"
        )
    if values.ndim not in (2, 4):
        raise ValueError(
            f"{name} has {values.ndim} dimensions: pass a table (n, d) or images (n, C, h, w)"
        )
    check_finite(values, name)
    if values.ndim == 4:
        _check_images(x, values, name)
    return values


def _check_images(x: Any, values: Tensor, name: str) -> None:
    """Refuse images with channels last, or with values that are neither bytes nor about −1 to 1."""
    _, channels, _, width = values.shape
    if channels > 4 >= width:
        axes = "permute" if isinstance(x, Tensor) else "transpose"
        raise ValueError(
            f"{name} has shape {tuple(values.shape)}: channels come first, as (n, C, h, w). Pass "
            f"{name}.{axes}(0, 3, 1, 2)"
        )
    kind = Kind.of(x)
    if kind.is_pixels:
        return
    if not kind.dtype.is_floating_point:
        raise ValueError(
            f"{name} has images of dtype {getattr(x, 'dtype', 'int')}: pass bytes from 0 to 255 "
            f"(uint8), or floats of about -1 to 1"
        )
    if values.numel() and values.abs().max() > MAX_BRIGHTNESS:
        raise ValueError(
            f"{name} has images of floats up to {values.abs().max():.4g}: pass bytes from 0 to 255 "
            f"as uint8; rescale other values to about -1 to 1"
        )


def check_training_rows(x: Any) -> Tensor:
    """Return rows that a flow can be fitted to."""
    rows = check_rows(x)
    shape = tuple(rows.shape)
    if 0 in shape[1:]:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required. "
            "Pass x with at least one column."
        )
    if len(rows) < 2:
        raise ValueError(
            f"Found array with n_samples={len(rows)} (shape={shape}) while a minimum of 2 is "
            "required: a distribution is estimated from its rows. Pass more rows."
        )
    if rows.ndim == 2 and (constant := _constant_columns(rows)):
        raise ValueError(
            f"x is constant in column(s) {constant[:10]}: there is nothing to model in them. "
            "Drop them, or pass images as (n, C, h, w), which may have constant pixels."
        )
    return rows


def _constant_columns(rows: Tensor) -> list[int]:
    """Return the numbers of the columns of rows (n, d) that have one value."""
    constant: list[int] = (rows == rows[0]).all(dim=0).nonzero().squeeze(1).tolist()
    return constant


def check_finite(values: Tensor, name: str) -> None:
    """Refuse NaN, infinity, and values that could overflow in float32 when projected."""
    if values.numel() == 0:
        return
    low, high = values.aminmax()  # one pass over what is often large; NaN if there is any
    if low >= -MAX_MAGNITUDE and high <= MAX_MAGNITUDE:
        return
    if values.isnan().any():
        raise ValueError(f"{name} contains NaN: fill in missing values, or drop their rows")
    if values.isinf().any():
        raise ValueError(f"{name} contains infinity: drop these rows, or clip their values")
    raise ValueError(
        f"{name} has values beyond {MAX_MAGNITUDE:g}, too large for float32: rescale it"
    )


def are_labels(y: Any, y_type: str | None = None) -> bool:
    """Return whether y is labels; otherwise it is numbers. Only this function decides that.

    Strings and booleans are labels. One column of integers is labels if it has at most
    `MAX_LABELS` different ones, each occurring at least twice on average. All else is numbers.
    ``y_type`` overrides the rule.
    """
    if y_type is not None:
        if y_type not in ("labels", "numbers"):
            raise ValueError(f'y_type={y_type!r}: pass "labels", "numbers" or None')
        return y_type == "labels"
    y = _array(y)
    if y.dtype == object and str not in set(map(type, y.flat)):
        with suppress(TypeError, ValueError):
            y = y.astype(float)  # objects that are numbers
    kind = str(y.dtype.kind)
    if kind not in "iuf":
        return kind != "c"
    if y.ndim != 1 and y.shape[1:] != (1,):
        return kind != "f"  # several columns of integers: `check_labels` asks what they are
    if kind == "f" and not (np.isfinite(y) & (y == np.floor(y))).all():
        return False
    n_different = len(np.unique(y))
    if n_different <= min(MAX_LABELS, max(2, len(y) // 2)):
        return True
    if kind != "f":
        warn_user(
            f"y has {n_different:,} different whole numbers, which are treated as numbers, not as "
            'labels. Pass y_type="numbers" or y_type="labels" to say what they are.'
        )
    return False


def check_columns(y: Any, n: int) -> Tensor:
    """Return the numbers y of n rows, with shape (l, n)."""
    values = check_numbers(y, "y")
    check_length(values.shape, n)
    if values.numel() == 0:
        raise ValueError(f"y has shape {tuple(values.shape)}, no columns: leave it out")
    check_finite(values, "y")
    return values.cpu().reshape(n, -1).T


def check_training_columns(y: Any, n: int) -> Tensor:
    """Return the numbers y of n rows, (l, n), if no column is constant."""
    columns = check_columns(y, n)
    if constant := _constant_columns(columns.T):
        raise ValueError(
            f"y is constant in column(s) {constant[:10]}, which say nothing about x: drop them"
        )
    return columns


def check_labels(y: Any, n: int) -> tuple[np.ndarray, Tensor]:
    """Return the classes, and the class number of each of n rows."""
    y = _one_column(_array(y))
    check_length(y.shape, n)
    if y.ndim != 1:
        raise ValueError(
            f"y has shape {y.shape}: pass one column of labels, or "
            'y_type="numbers" if its columns are numbers'
        )
    _check_label_types(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class, {classes[0]}: leave y out, or pass rows of other classes"
        )
    if len(classes) > MAX_CLASSES:
        raise ValueError(
            f"y has {len(classes):,} different labels, more than {MAX_CLASSES:,}: merge rare "
            'ones, or pass y_type="numbers" if they are numbers'
        )
    return classes, torch.from_numpy(codes)


def _check_label_types(y: np.ndarray) -> None:
    """Refuse labels that are missing, of several types, or of a type that files cannot hold."""
    if y.dtype.kind == "f":
        check_finite(torch.from_numpy(y.astype(float)), "y")
    objects = y if y.dtype == object else y[:0]
    is_mixed = len({isinstance(v, str) for v in objects}) > 1
    if is_mixed or any(_is_missing(v) for v in objects):
        raise ValueError(
            "y has missing values or labels of several types: pass strings or integers"
        )
    is_known = all(isinstance(v, str | int | float | np.number | np.bool_) for v in objects)
    if y.dtype.kind not in "biufUO" or not is_known:
        raise ValueError(f"y has labels of type {_type_name(y)}: pass strings or integers")


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or pandas' NA (which has no equality)."""
    return value is None or type(value).__name__ == "NAType" or value != value


def _type_name(y: np.ndarray) -> str:
    return type(y[0]).__name__ if y.dtype == object else str(y.dtype)


def check_mask(mask: Any, shape: tuple[int, ...]) -> Tensor:
    """Return the mask of observed coordinates, (d,), from a mask or the name of a half."""
    mask = _half(mask, shape) if isinstance(mask, str) else _array(mask)
    if mask.dtype != bool:
        raise TypeError(f"observed has dtype {mask.dtype}: pass booleans, True where x is given")
    if mask.shape != shape:
        raise ValueError(
            f"observed has shape {mask.shape}, not that of a row of x: pass a mask of shape {shape}"
        )
    if mask.all() or not mask.any():
        raise ValueError(
            f"observed is {mask.all()} everywhere: leave it out to sample all of x, or mark some "
            "values as True and some as False"
        )
    return torch.from_numpy(mask.ravel().copy())


HALVES = ("left", "right", "top", "bottom")


def _half(name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name not in HALVES or len(shape) != 3:
        raise ValueError(
            f"observed={name!r}: pass {', '.join(map(repr, HALVES))} for images (n, C, h, w), or a "
            "mask"
        )
    mask = np.zeros(shape, dtype=bool)
    axis, first = (1 if name in ("top", "bottom") else 2), name in ("left", "top")
    middle = shape[axis] // 2
    half = slice(None, middle) if first else slice(middle, None)
    mask[(slice(None),) * axis + (half,)] = True
    return mask


def check_given_labels(y: Any, n: int, classes: np.ndarray) -> Tensor:
    """Return the class numbers of n samples, given one label or n of them."""
    if y is None:
        raise ValueError(f"the model is conditional: pass y, one of {_listed(classes)}")
    y = _one_column(_array(y))
    distinct, places = np.unique(y, return_inverse=True)
    known = {label: number for number, label in enumerate(classes.tolist())}
    # Compared by Python, not NumPy: there, 10 and "10" are equal, and 2**60 + 1 becomes a float.
    numbers = np.array([known.get(label, -1) for label in distinct.tolist()], dtype=int)
    if (numbers < 0).any():
        are_numbers = y.dtype.kind in "iuf" and classes.dtype.kind in "iuf"
        fix = '. To condition on any number, fit with y_type="numbers"' if are_numbers else ""
        unknown = _listed(distinct[numbers < 0])
        raise ValueError(f"y has unknown labels {unknown}: the model has {_listed(classes)}{fix}")
    return torch.from_numpy(_one_or_each(numbers[places].reshape(y.shape), n, ()).copy())


def check_given_columns(y: Any, n: int, l: int, names: Sequence[str] = ()) -> Tensor:
    """Return the columns of y for n samples, (l, n), given one row for all or one for each.

    Columns of a data frame are found by name, if ``names`` are known.
    """
    if y is None:
        raise ValueError(f"the model is conditional: pass y, the value(s) of {l} column(s)")
    values = check_numbers(_named_columns(_as_frame(y) if l > 1 else y, names), "y")
    if l == 1 and values.ndim < 2:
        values = values.reshape(-1, 1)
    check_finite(values, "y")
    return torch.from_numpy(_one_or_each(values.cpu().double().numpy(), n, (l,)).T.copy())


def check_given_objects(y: Any, n: int, l: int, names: Sequence[str] = ()) -> np.ndarray:
    """Return n rows of words and numbers, (n, l), given one row for all or one for each.

    Columns of a data frame are found by name, if ``names`` are known.
    """
    if y is None:
        raise ValueError(f"the model is conditional: pass y, the values of {l} columns")
    return _one_or_each(as_objects(_named_columns(_as_frame(y), names)), n, (l,))


def check_given_rows(y: Any, n: int, mask: Tensor, names: Sequence[str] = ()) -> Tensor:
    """Return n float64 particles (d, n) with the observed values of one row or of n rows.

    Columns of a data frame are found by name, if ``names`` are known; others are not needed.
    """
    if y is None:
        raise ValueError(
            "the model completes rows of x: pass y as whole rows, with the observed values in "
            "their places (the others are ignored)"
        )
    y = _as_frame(y)
    if _is_frame(y) and names:
        y = _rows_of_frame(y, mask, names)
    values = check_numbers(y, "y")
    rows = _one_or_each(values.cpu().double().numpy(), n, tuple(mask.shape))
    particles = torch.from_numpy(rows.reshape(n, -1).T.copy())
    check_finite(particles[mask.cpu().flatten()], "y, where observed,")
    return particles.nan_to_num()  # values that are not observed may be missing


def check_given_bytes(particles: Tensor, mask: Tensor) -> None:
    """Refuse pixels that are not bytes, for a model of bytes."""
    given = particles[mask.flatten()]
    if ((given != given.round()) | (given < 0) | (given > 255)).any():
        raise ValueError("the model has images of bytes: pass pixels as integers from 0 to 255")


def column_names(frame: Any) -> tuple[str, ...]:
    """Return the names of the columns of a data frame or series, if they are strings."""
    is_series = hasattr(frame, "to_frame")
    names = tuple(frame.columns) if _is_frame(frame) else (frame.name,) if is_series else (None,)
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two columns have the name {duplicates[0]}: rename one of them")
    return names if all(isinstance(name, str) for name in names) else ()


def numbered_names(d: int, l: int) -> tuple[str, ...]:
    """Return default names for d columns of x and l columns of y."""
    given = tuple(f"y{i}" for i in range(l)) if l > 1 else ("y",) * l
    return (*(f"x{i}" for i in range(d)), *given)


def _is_frame(x: Any) -> bool:
    """Return whether x is a data frame of any library."""
    return hasattr(x, "columns") and hasattr(x, "__getitem__")


def _as_frame(y: Any) -> Any:
    """Return a row of a pandas data frame as a data frame, and anything else unchanged."""
    is_row = hasattr(y, "to_frame") and hasattr(y, "index")
    return y.to_frame().T if is_row else y


def _named_columns(y: Any, names: Sequence[str]) -> Any:
    """Return these columns of a data frame, if names are known, and anything else unchanged."""
    if not _is_frame(y) or not names:
        return y
    _check_names(y, names)
    return y[list(names)]


def _check_names(frame: Any, names: Sequence[str]) -> None:
    if missing := [name for name in names if name not in frame.columns]:
        raise ValueError(
            f"y has no column {', '.join(missing)}: pass a data frame with {', '.join(names)}"
        )


def _rows_of_frame(frame: Any, mask: Tensor, names: Sequence[str]) -> np.ndarray:
    """Return rows of x with the observed columns of a data frame filled in."""
    observed = mask.flatten().nonzero().squeeze(1).tolist()
    _check_names(frame, [names[i] for i in observed])
    rows = np.full((len(frame), len(mask)), np.nan)
    for i in observed:
        rows[:, i] = check_numbers(frame[names[i]], names[i])
    return rows


def _check_exact(values: np.ndarray, name: str) -> None:
    """Refuse integers that are not exact in float64."""
    if values.itemsize < 8 or not values.size:
        return
    if max(int(values.max()), -int(values.min())) > MAX_EXACT:
        raise ValueError(
            f"{name} has whole numbers beyond 2**53, which floats cannot hold: subtract the "
            "minimum first, or leave them out if they are ids"
        )


def _numeric_array(x: Any, name: str) -> np.ndarray:
    if hasattr(x, "toarray"):
        raise TypeError(f"{name} is sparse: a dense array is required, pass {name}.toarray()")
    _check_unmasked(x, name)
    array = np.asarray(x)
    if array.dtype.kind in "biufc":
        return array
    if array.dtype.kind in "mMV":
        raise TypeError(f"{name} has dtype {array.dtype}: encode it as numbers")
    try:
        return array.astype(np.float64)
    except (ValueError, TypeError) as error:
        message = f"{name} must be numbers ({error}): encode other values, or drop them"
        raise type(error)(message) from error


def _check_unmasked(x: Any, name: str) -> None:
    if np.ma.is_masked(x):
        raise ValueError(f"{name} has masked values: fill them in, {name}.filled(), or drop them")


def _array(y: Any) -> np.ndarray:
    _check_unmasked(y, "y")
    array = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if array.dtype.kind == "T":  # NumPy's strings of variable length
        return np.array(array.tolist())
    return np.char.decode(array) if array.dtype.kind == "S" else array


def as_objects(y: Any) -> np.ndarray:
    """Return y as an array in which words and numbers are kept apart.

    Arrays of numbers are returned as they are. NumPy would turn a list of both into words.
    """
    if isinstance(y, list | tuple):
        return np.array(y, dtype=object)
    return _array(y)


def _one_column(y: np.ndarray) -> np.ndarray:
    """Return a column of labels as a one-dimensional array."""
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def check_length(shape: tuple[int, ...], n: int) -> None:
    """Refuse a y of another number of rows than x."""
    if not shape or shape[0] != n:
        raise ValueError(
            f"x has {n} rows but y has shape {tuple(shape)}: pass one y for each row of x"
        )


def _one_or_each(y: np.ndarray, n: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return y for n samples, (n, *shape), given one y for all or one for each."""
    if y.shape not in (shape, (1, *shape), (n, *shape)):
        raise ValueError(
            f"y has shape {y.shape}: for n={n} samples pass shape {shape}, one y for all, or "
            f"{(n, *shape)}, one for each"
        )
    return np.broadcast_to(y, (n, *shape))


def _listed(values: np.ndarray) -> str:
    """Return at most ten values as text."""
    return str(values[:10].tolist()) + (" and more" if len(values) > 10 else "")
