"""The classifier two-sample test (C2ST) of the benchmark of simulation-based inference.

A network is trained to tell samples from a reference; its accuracy on held-out rows is 0.5 if it
cannot. The network, its training and its folds are those of scikit-learn's `MLPClassifier`, as the
benchmark uses it. Here the networks of all folds of a pair of sets are trained together, as batched
products, and pairs share the threads, which takes less time.
"""

from itertools import pairwise

import numpy as np
import torch
from sklearn.model_selection import KFold
from torch import Tensor

from sliceflow.core._threads import parallel

FOLDS, BATCH, RATE, DECAY = 5, 200, 1e-3, 1e-4
MIN_GAIN, PATIENCE, MAX_EPOCHS = 1e-4, 10, 1000
"""Training ends if the mean loss has not sunk by `MIN_GAIN` for `PATIENCE` epochs."""


def c2st(references: list[np.ndarray], samples: list[np.ndarray], seed: int = 1) -> list[float]:
    """Return how often a classifier tells samples from their reference, for each pair.

    The two sets of a pair have as many rows and columns: (m, d).
    """
    return parallel(lambda pair: _told(*pair, seed), zip(references, samples, strict=True))


def _told(reference: np.ndarray, samples: np.ndarray, seed: int) -> float:
    """Return the accuracy of the classifier for one pair of sets, (m, d)."""
    m, d = reference.shape
    data = torch.from_numpy(_standardised(reference, samples)).float()
    is_sample = (torch.arange(2 * m) >= m).float()
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(is_sample))
    train, test = (torch.from_numpy(np.stack(rows)) for rows in zip(*folds, strict=True))
    rng = torch.Generator().manual_seed(seed)
    networks = Networks.trained(data[train], is_sample[train], 10 * d, rng)
    right = (networks(data[test]) > 0) == is_sample[test].bool()
    return float(right.float().mean())


def _standardised(reference: np.ndarray, samples: np.ndarray) -> np.ndarray:
    rows = np.concatenate([reference, samples])
    return (rows - reference.mean(axis=0)) / reference.std(axis=0)


class Networks:
    """K networks of two hidden layers."""

    def __init__(self, k: int, sizes: list[int], rng: torch.Generator) -> None:
        self.parameters = []
        for inputs, outputs in pairwise(sizes):
            bound = (6 / (inputs + outputs)) ** 0.5
            for rows in (inputs, 1):
                uniform = torch.rand(k, rows, outputs, generator=rng)
                self.parameters.append(bound * (2 * uniform - 1))

    def __call__(self, x: Tensor) -> Tensor:
        """Return the logits of rows x, (K, n, d): (K, n)."""
        *hidden, weights, bias = self.parameters
        for w, b in zip(hidden[::2], hidden[1::2], strict=True):
            x = torch.baddbmm(b, x, w).relu()
        return torch.baddbmm(bias, x, weights).squeeze(2)

    @classmethod
    def trained(cls, x: Tensor, y: Tensor, width: int, rng: torch.Generator) -> "Networks":
        """Return networks trained on rows x, (K, n, d), and y, (K, n)."""
        k, n, d = x.shape
        networks = cls(k, [d, width, width, 1], rng)
        moments = [[torch.zeros_like(p) for p in networks.parameters] for _ in range(2)]
        best, waited, step = torch.full((k,), torch.inf), torch.zeros(k), 0
        trained, going = cls(k, [d, width, width, 1], rng), torch.arange(k)
        for _ in range(MAX_EPOCHS):
            losses, order = torch.zeros(len(going)), torch.randperm(n, generator=rng)
            for rows in order.split(BATCH):
                step += 1
                losses += len(rows) / n * networks._step(x[:, rows], y[:, rows], moments, step)
            waited = torch.where(losses > best - MIN_GAIN, waited + 1, 0)
            best, stays = best.minimum(losses), waited <= PATIENCE
            for p, q in zip(trained.parameters, networks.parameters, strict=True):
                p[going] = q
            if not stays.any():
                break
            if not stays.all():  # the others need not be computed any more
                going, best, waited, x, y = (t[stays] for t in (going, best, waited, x, y))
                networks.parameters = [p[stays] for p in networks.parameters]
                moments = [[m[stays] for m in moment] for moment in moments]
        return trained

    def _step(self, x: Tensor, y: Tensor, moments: list[list[Tensor]], step: int) -> Tensor:
        """Take a step of Adam on a batch, (K, n, d), and return the loss of each network."""
        for p in self.parameters:
            p.requires_grad_(True)
        logits = self(x)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
        loss = loss.mean(dim=1)
        decay = sum(w.square().sum() for w in self.parameters[::2]) * (DECAY / 2 / x.shape[1])
        gradients = torch.autograd.grad(loss.sum() + decay, self.parameters)
        rate = RATE * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step)
        with torch.no_grad():
            for p, g, first, second in zip(self.parameters, gradients, *moments, strict=True):
                first.lerp_(g, 0.1)
                second.lerp_(g.square(), 0.001)
                p.sub_(rate * first / (second.sqrt() + 1e-8)).requires_grad_(False)
        return loss.detach()
