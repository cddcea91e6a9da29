"""Nearest neighbours: whether samples are copies, realistic, and as diverse as the data."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sliceflow.directions._operator import slices

BLOCK = 1000

COARSE = 4
"""Side in pixels of the squares whose mean is not detail."""


def nearest(x: np.ndarray, data: np.ndarray, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and indices of the k nearest rows of data for each row of x, (n, k).

    Rows may have any shape; the distance is Euclidean, over all values of a row.
    """
    middle = data.mean(
        axis=0, dtype=np.float64
    )  # centred, since squares of large values lose precision
    rows, candidates = (_rows(a - middle) for a in (x, data))
    parts = [_nearest(rows[block], candidates, k) for block in slices(len(rows), BLOCK)]
    squares, numbers = (torch.cat(column) for column in zip(*parts, strict=True))
    return squares.clamp(min=0).sqrt().numpy(), numbers.numpy()


def detail_correlation(images: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Return the largest correlation of each image's detail with that of an image of the data.

    Detail is what is left of images (n, C, h, w) without the means of 4×4 pixels. So brightness,
    contrast and large shapes do not count: many images are alike in these.
    """
    distance, _ = nearest(_detail(images), _detail(data))
    closest: np.ndarray = 1 - distance[:, 0] ** 2 / 2  # of vectors of length one
    return closest


def _detail(images: np.ndarray) -> np.ndarray:
    """Return the detail of images as vectors of length one, (n, C h w)."""
    n, channels, h, w = images.shape
    tiles = images.astype(np.float32)[..., : h // COARSE * COARSE, : w // COARSE * COARSE]
    tiles = tiles.reshape(n, channels, h // COARSE, COARSE, w // COARSE, COARSE)
    detail = (tiles - tiles.mean(axis=(3, 5), keepdims=True)).reshape(n, -1)
    unit: np.ndarray = detail / np.linalg.norm(detail, axis=1, keepdims=True).clip(1e-6)
    return unit


def _rows(a: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(a.reshape(len(a), -1), dtype=np.float32))


def _nearest(x: Tensor, data: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return squared distances and indices, computed block by block."""
    best = torch.full((len(x), k), torch.inf), torch.zeros((len(x), k), dtype=torch.long)
    length = x.square().sum(dim=1, keepdim=True)
    for block in slices(len(data), 10 * BLOCK):
        y = data[block]
        squares = length + y.square().sum(dim=1) - 2 * x @ y.T
        index = torch.arange(block.start, block.stop).expand_as(squares)
        both = torch.cat([best[0], squares], dim=1)
        top = both.topk(k, dim=1, largest=False)
        best = top.values, torch.cat([best[1], index], dim=1).gather(1, top.indices)
    return best


@dataclass(frozen=True)
class Coverage:
    """Precision: fraction of samples in the support of the data. Recall: vice versa."""

    precision: float
    recall: float


def precision_and_recall(samples: np.ndarray, data: np.ndarray, k: int = 3) -> Coverage:
    """Return both for features (n, d), as Kynkäänniemi et al. (2019) define them.

    The support of a set is the union of balls around its members, each with the distance to its
    k-th nearest neighbour in the set as radius.
    """
    return Coverage(_share_within(samples, data, k), _share_within(data, samples, k))


def _share_within(x: np.ndarray, support: np.ndarray, k: int) -> float:
    radius = torch.from_numpy(nearest(support, support, k + 1)[0][:, -1])  # the nearest is itself
    centres = _rows(support)
    parts = (_rows(x[block]) for block in slices(len(x), BLOCK))
    within = [(torch.cdist(part, centres) <= radius).any(dim=1) for part in parts]
    return float(torch.cat(within).float().mean())
