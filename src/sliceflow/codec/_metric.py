"""A metric of y, learned by how x changes with it.

Columns of y that say nothing of x should not count for the distance between two rows, and those
that say much should count more. So rows are multiplied by the square root of the mean outer product
of the gradient of a kernel regression (recursive feature machines, Radhakrishnan et al. 2024).
"""

import math

import torch
from torch import Tensor

from sliceflow.codec._ridge import Ridge

ROUNDS = 2
"""How often a metric is learned, each time by a regression with the one before."""

MAX_ROWS, MAX_CENTRES, WIDTH = 5000, 500, 0.5
"""Rows and centres of these regressions, and the width of their Gaussian kernel."""

LEAST = 1e-3
"""The least weight of any direction of y, as a share of the total."""


def learned_metric(y: Tensor, x: Tensor) -> Tensor:
    """Return the matrix, (l, l), by which rows y, (n, l), are multiplied to predict x, (n, d)."""
    y, x, l = y[:MAX_ROWS], x[:MAX_ROWS], y.shape[1]
    metric = torch.eye(l, dtype=torch.float64)
    for _ in range(ROUNDS):
        metric = metric @ _root(_mean_outer_gradient(y @ metric, x))
        metric *= math.sqrt(l / max(float((y @ metric).var(dim=0).sum()), 1e-300))
    return metric


def _mean_outer_gradient(y: Tensor, x: Tensor) -> Tensor:
    """Return the mean over rows of Σ ∇f ∇fᵀ, (l, l), where f predicts each column of x."""
    l, centres = y.shape[1], y[:MAX_CENTRES]
    scale = WIDTH * math.sqrt(l)
    kernel = torch.exp(-(torch.cdist(y, centres) / scale).square() / 2)
    coefficients, _ = Ridge.of(torch.cat([torch.ones(len(y), 1), y, kernel], dim=1)).fit(x)
    outer = torch.zeros(l, l, dtype=torch.float64)
    for c in coefficients.T:
        pull = kernel * c[1 + l :] / scale**2  # of each centre on each row
        gradient = c[1 : 1 + l] + pull @ centres - pull.sum(dim=1, keepdim=True) * y
        outer += gradient.T @ gradient
    return outer


def _root(outer: Tensor) -> Tensor:
    """Return the square root of a symmetric matrix, of which no direction counts too little."""
    sizes, axes = torch.linalg.eigh(outer)
    sizes = sizes.clamp(min=0) / sizes.sum().clamp(min=1e-300) + LEAST / len(sizes)
    root: Tensor = axes * sizes.sqrt() @ axes.T
    return root
