"""Whether samples of p(x | y) are as spread as they should be, given rows of held-out data.

Each function compares rows x, (n, d), with m samples for the y of each row, (n, m, d).
"""

from collections.abc import Sequence

import numpy as np


def calibration_ranks(x: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return the rank of each value among its samples, from 0 to m: (n, d).

    If samples are right, all ranks are equally frequent (Talts et al. 2018). Many small and large
    ranks mean that samples are too narrow; many in the middle, that they are too wide. A value
    that is equal to some samples has their mean rank.
    """
    x, samples = _checked(x, samples)
    below, equal = samples < x[:, None], samples == x[:, None]
    ranks: np.ndarray = below.sum(axis=1) + equal.sum(axis=1) / 2
    return ranks


def interval_coverage(x: np.ndarray, samples: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Return the share of values within the central intervals of samples, (levels, d).

    If samples are right, a share of 0.9 is within intervals of the level 0.9, if there are at least
    19 samples: m samples cut the values of the next one into m + 1 equally likely parts.
    """
    x, samples = _checked(x, samples)
    half = np.asarray(levels, dtype=float) / 2
    ends = (0.5 - half, 0.5 + half)
    low, high = (np.quantile(samples, end, axis=1, method="weibull") for end in ends)
    covered: np.ndarray = ((low <= x) & (x <= high)).mean(axis=1)
    return covered


def crps(x: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return the continuous ranked probability score of each column, mean of all rows: (d,).

    It is ``E|X − x| − ½ E|X − X'|``, in the units of x; lower is better. The best possible samples
    have the lowest (Gneiting & Raftery 2007). With one sample for each row, it is the absolute
    error.
    """
    x, samples = _checked(x, samples)
    m = samples.shape[1]
    error = np.abs(samples - x[:, None]).mean(axis=1)
    if m == 1:
        return np.asarray(error.mean(axis=0))
    # E|X − X'| of two different samples, from their order
    weights = (2 * np.arange(m) - m + 1) / (m * (m - 1))
    spread = 2 * np.einsum("nmd,m->nd", np.sort(samples, axis=1), weights)
    return np.asarray((error - spread / 2).mean(axis=0))


def _checked(x: np.ndarray, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both in float64, if there are samples for each row."""
    x, samples = np.asarray(x, dtype=float), np.asarray(samples, dtype=float)
    if x.ndim != 2 or samples.ndim != 3 or samples[:, :0].shape != (len(x), 0, *x.shape[1:]):
        raise ValueError(
            f"x has shape {x.shape} and samples {samples.shape}: pass rows (n, d), and m samples "
            "for each, (n, m, d)"
        )
    if not samples.size:
        raise ValueError("there are no samples: pass at least one row, and one sample for it")
    if np.isnan(x).any() or np.isnan(samples).any():
        raise ValueError("x or samples contain NaN: drop these rows")
    return x, samples
