"""How far maps from counts are from maps of sorted values."""

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.ledger import Figure
from sliceflow.transport import HistogramMap, SortedMap

M, N, H = 10_000, 20_000, 32

THETA = np.random.default_rng(10).normal(size=(H, 10))
DISTRIBUTIONS = {
    "gaussian": lambda rng, n: rng.normal(1.0, 2.0, (H, n)),
    "uniform": lambda rng, n: rng.random((H, n)),
    "bimodal": lambda rng, n: 0.3 * rng.normal(size=(H, n)) + rng.choice([-2, 2], (H, n)),
    "cauchy": lambda rng, n: rng.standard_cauchy((H, n)),
    "atomic": lambda rng, n: rng.normal(size=(H, n)) * (rng.random((H, n)) < 0.5),
    "labels": lambda rng, n: 0.5 * rng.normal(size=(H, n)) + labels(n),
}


def labels(n: int) -> np.ndarray:
    """Return the part of ten labels in the values along H directions, for ξ = 10."""
    return 10 * (THETA / np.linalg.norm(THETA, axis=1, keepdims=True))[:, np.arange(n) % 10]


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the mean absolute difference of displacements, in standard deviations of the data."""
    for name, distribution in DISTRIBUTIONS.items():
        for cells in (256, 1024, 4096):
            about = f"difference to the exact displacement / data's deviation, {name}, B = {cells}"
            yield Figure(f"map.error.{name}.{cells}", error(name, distribution, cells), "", about)


def error(name: str, distribution: object, cells: int) -> float:
    """Return the error for particles that start as noise, or as noise of their class."""
    start = DISTRIBUTIONS["labels"] if name == "labels" else lambda rng, n: rng.normal(size=(H, n))
    p, q = (
        torch.from_numpy(draw(np.random.default_rng(seed), n)).float().contiguous()
        for seed, (draw, n) in enumerate([(start, M), (distribution, N)])
    )
    moves = [p.clone(), p.clone()]
    HistogramMap.between(p, q, cells).displace_(moves[0])
    SortedMap.between(p, q).displace_(moves[1])
    return float(((moves[0] - moves[1]).abs().mean(dim=1) / q.std(dim=1)).mean())
