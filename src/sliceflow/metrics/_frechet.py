"""Distances between the features of two sets of images: FID and KID."""

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True, eq=False)
class Statistics:
    """The mean (d,) and covariance (d, d) of features, in float64.

    With fewer than d rows, also the rows X, centred and scaled so that XᵀX is the covariance.
    """

    mean: np.ndarray
    covariance: np.ndarray
    rows: np.ndarray | None

    @classmethod
    def of(cls, features: np.ndarray) -> Self:
        """Return the statistics of features (n, d)."""
        rows = features.astype(np.float64)
        mean = rows.mean(axis=0)
        rows -= mean
        rows /= np.sqrt(len(rows) - 1)
        return cls(mean, rows.T @ rows, rows if len(rows) < len(mean) else None)

    def root(self) -> np.ndarray:
        """Return R (k, d), where RᵀR is the covariance."""
        if self.rows is not None:
            return self.rows
        value, vector = np.linalg.eigh(self.covariance)
        root: np.ndarray = (vector * np.sqrt(value.clip(min=0))).T
        return root


def frechet_distance(a: Statistics, b: Statistics) -> float:
    """Return ‖μ_a − μ_b‖² + tr(Σ_a + Σ_b − 2 (Σ_a Σ_b)^½): FID, for Inception features."""
    root = a.root()
    # This symmetric matrix has the eigenvalues of Σ_a Σ_b, and is better conditioned.
    product = np.linalg.eigvalsh(root @ b.covariance @ root.T)
    traces = np.trace(a.covariance) + np.trace(b.covariance)
    shift = np.square(a.mean - b.mean).sum()
    return float(shift + traces - 2 * np.sqrt(product.clip(min=0)).sum())


def kernel_distance(
    x: np.ndarray, y: np.ndarray, subsets: int = 100, size: int = 1000, seed: int = 0
) -> float:
    """Return KID of features (n, d): the mean over random subsets of an unbiased MMD².

    The kernel is (xᵀy/d + 1)³. Unlike for FID, its expectation does not depend on n.
    """
    rng, m = np.random.default_rng(seed), min(size, len(x), len(y))
    values = []
    for _ in range(subsets):
        a, b = (rows[rng.choice(len(rows), m, replace=False)].astype(np.float64) for rows in (x, y))
        squares = (_kernel(rows, rows) for rows in (a, b))
        inside = sum((square.sum() - square.trace()) / (m * (m - 1)) for square in squares)
        values.append(inside - 2 * _kernel(a, b).mean())
    return float(np.mean(values))


def _kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    kernel: np.ndarray = (a @ b.T / a.shape[1] + 1) ** 3
    return kernel
