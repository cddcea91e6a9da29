"""Checks of parameters. Errors say what is wrong and how to fix it."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

MAX_MAGNITUDE = 1e18
"""Largest allowed value: sums of squares of such numbers are finite in float32."""

MAX_SEED = 2**128 - 1
"""Largest seed that `numpy.random.SeedSequence` draws."""


def check_shards(shards: int, max_shards: int, processes: int) -> None:
    """Refuse more shards than the data and particles allow, or fewer than processes."""
    if shards > max_shards:
        raise ValueError(
            f"data and particles cannot be split into {shards} shards: pass shards={max_shards}"
        )
    if shards < processes:
        raise ValueError(
            f"{processes} processes cannot share {shards} shards: start at most {shards} processes"
        )


def check_resolution(resolution: int | None, shape: tuple[int, ...]) -> None:
    """Refuse a resolution that x of this shape does not have."""
    if resolution is None:
        return
    if len(shape) != 3:
        raise ValueError(
            f"resolution={resolution} needs images (n, C, h, w) but x is a table: leave it out, "
            "or reshape x to images"
        )
    if resolution > min(shape[1:]):
        raise ValueError(
            f"resolution={resolution} is larger than the images, {shape[1:]}: "
            f"pass at most {min(shape[1:])}"
        )


def check_preset(name: str, presets: Iterable[str]) -> str:
    """Return the name of a preset, if it exists."""
    if name not in presets:
        raise ValueError(f"schedule={name!r} is not a preset: pass one of {', '.join(presets)}")
    return name


def check_seed(random_state: Any) -> int:
    """Return a seed from an integer, a NumPy generator or None."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if hasattr(random_state, "initial_seed"):
        raise TypeError("random_state is a torch.Generator: pass its .initial_seed()")
    return check_integer("random_state", random_state, 0, MAX_SEED)


def check_integer(name: str, value: Any, minimum: int, maximum: int = 2**63 - 1) -> int:
    """Return ``value`` if it is an integer from ``minimum`` to ``maximum``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}={value!r} must be an integer: pass {name}={minimum} or more")
    if value < minimum:
        raise ValueError(f"{name}={value} is too small: pass {name}={minimum} or more")
    if value > maximum:
        raise ValueError(f"{name} is too large: pass {name}={maximum} or less")
    return int(value)


def check_optional_integer(name: str, value: Any, minimum: int) -> int | None:
    """Return ``value`` if it is None, or an integer of at least ``minimum``."""
    return None if value is None else check_integer(name, value, minimum)


def check_number(name: str, value: Any, *, positive: bool, maximum: float = MAX_MAGNITUDE) -> float:
    """Return ``value`` if it is a number from 0 to ``maximum``, and not 0 if ``positive``."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name}={value!r} must be a number")
    if not 0 <= value < math.inf or (positive and value == 0):
        raise ValueError(f"{name}={value} must be finite and {'> 0' if positive else '>= 0'}")
    if value > maximum:
        raise ValueError(f"{name} is too large: pass {name}={maximum:g} or less")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` if it is a boolean."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} must be True or False")
    return bool(value)
