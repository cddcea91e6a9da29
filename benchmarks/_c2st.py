"""The classifier two-sample test (C2ST) of the benchmark of simulation-based inference.

A network is trained to tell samples from a reference; its accuracy on held-out rows is 0.5 if it
cannot. The network, its training and its folds are those of scikit-learn's `MLPClassifier`, as the
benchmark uses it. Here the training is compiled, and networks share the threads, which takes a
small part of the time.
"""

from itertools import pairwise, product

import numpy as np
from numba import njit
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from sliceflow.core._threads import parallel

FOLDS, BATCH, RATE, DECAY = 5, 200, 1e-3, 1e-4
MIN_GAIN, PATIENCE, MAX_EPOCHS = 1e-4, 10, 1000
"""Training ends if the mean loss has not sunk by `MIN_GAIN` for `PATIENCE` epochs."""


def c2st(references: list[np.ndarray], samples: list[np.ndarray], seed: int = 1) -> list[float]:
    """Return how often a classifier tells samples from their reference, for each pair.

    The two sets of a pair have as many rows and columns: (m, d).
    """
    pairs = zip(references, samples, strict=True)
    data = [_standardised(*pair) for pair in pairs]
    is_sample = np.arange(len(data[0])) >= len(data[0]) // 2
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(is_sample))

    def accuracy(item: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]) -> float:
        rows, (train, test) = item
        d, width = rows.shape[1], 10 * rows.shape[1]
        rng = np.random.default_rng(seed)
        network, decay = _initial(d, width, rng)
        _train(network, decay, rows[train], is_sample[train].astype(np.float32), rng)
        told = _logits(rows[test], *_layers(network, d, width))[2] > 0
        return float((told == is_sample[test]).mean())

    with threadpool_limits(1, "blas"):
        scores = parallel(accuracy, product(data, folds))
    return np.reshape(scores, (-1, FOLDS)).mean(axis=1).tolist()


def _standardised(reference: np.ndarray, samples: np.ndarray) -> np.ndarray:
    rows = np.concatenate([reference, samples])
    return ((rows - reference.mean(axis=0)) / reference.std(axis=0)).astype(np.float32)


@njit(cache=True, nogil=True)
def _layers(flat, d, width):  # type: ignore[no-untyped-def]
    """Return the weights and biases of two hidden layers and of the output, all in one array."""
    a, b = d * width, (d + 1) * width
    c = b + width * width
    return (
        *(flat[:a].reshape(d, width), flat[a:b]),
        *(flat[b:c].reshape(width, width), flat[c : c + width]),
        *(flat[c + width : c + 2 * width], flat[c + 2 * width :]),
    )


@njit(cache=True, nogil=True)
def _logits(x, w1, b1, w2, b2, w3, b3):  # type: ignore[no-untyped-def]
    """Return the values of both hidden layers for rows x, (n, d), and their logits, (n,)."""
    first = np.maximum(np.dot(x, w1) + b1, np.float32(0))
    second = np.maximum(np.dot(first, w2) + b2, np.float32(0))
    return first, second, np.dot(second, w3) + b3[0]


def _initial(d: int, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return random weights and biases, and the decay of each, which biases do not have."""
    values, decays = [], []
    for inputs, outputs in pairwise([d, width, width, 1]):
        bound = (6 / (inputs + outputs)) ** 0.5
        values.append(rng.uniform(-bound, bound, (inputs + 1) * outputs))
        decays.append(np.repeat([DECAY, 0], [inputs * outputs, outputs]))
    return np.concatenate(values).astype(np.float32), np.concatenate(decays).astype(np.float32)


@njit(cache=True, nogil=True)
def _train(flat, decay, x, y, rng):  # type: ignore[no-untyped-def]
    """Train a network on rows x, (n, d), and y, (n,), of zeros and ones."""
    n, width, best, waited, step = len(x), 10 * x.shape[1], np.inf, 0, 0
    gradient, first, second = np.empty_like(flat), np.zeros_like(flat), np.zeros_like(flat)
    for _ in range(MAX_EPOCHS):
        order, loss = rng.permutation(n), 0.0
        for start in range(0, n, BATCH):
            rows = order[start : start + BATCH]
            loss += _differentiate(flat, gradient, x[rows], y[rows], width)
            step += 1
            rate = np.float32(RATE * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step))
            for i in range(len(flat)):  # Adam
                g = gradient[i] + decay[i] * flat[i] / np.float32(len(rows))
                first[i] += np.float32(0.1) * (g - first[i])
                second[i] += np.float32(0.001) * (g * g - second[i])
                flat[i] -= rate * first[i] / (np.sqrt(second[i]) + np.float32(1e-8))
        waited = waited + 1 if loss / n > best - MIN_GAIN else 0
        best = min(best, loss / n)
        if waited > PATIENCE:
            break


@njit(cache=True, nogil=True)
def _differentiate(flat, gradient, x, y, width):  # type: ignore[no-untyped-def]
    """Write the gradient of the mean loss of a batch; return the sum of its losses."""
    w1, b1, w2, b2, w3, b3 = _layers(flat, x.shape[1], width)
    g1, gb1, g2, gb2, g3, gb3 = _layers(gradient, x.shape[1], width)
    first, second, logits = _logits(x, w1, b1, w2, b2, w3, b3)
    e = np.exp(-np.abs(logits))
    loss = (np.maximum(logits, np.float32(0)) - y * logits + np.log1p(e)).sum()
    told = np.where(logits > 0, np.float32(1), e) / (1 + e)
    back = (told - y) / np.float32(len(x))
    g3[:], gb3[:] = np.dot(second.T, back), back.sum()
    back2 = back.reshape(-1, 1) * w3 * (second > 0)
    g2[:], gb2[:] = np.dot(first.T, back2), back2.sum(axis=0)
    back1 = np.dot(back2, w2.T) * (first > 0)
    g1[:], gb1[:] = np.dot(x.T, back1), back1.sum(axis=0)
    return loss
