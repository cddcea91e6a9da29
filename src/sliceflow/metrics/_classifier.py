"""A small classifier to judge samples. It is not part of any model."""

from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from sliceflow.directions._operator import slices

BATCH = 128


class Classifier:
    """Three convolutions and a linear layer, trained on real images and their labels.

    Parameters
    ----------
    epochs
        Number of passes over the data.
    seed
        Seed of its weights and of the order of the data.
    """

    def __init__(self, epochs: int = 3, seed: int = 0) -> None:
        self.epochs = epochs
        self.seed = seed

    def fit(self, pixels: np.ndarray, labels: np.ndarray) -> Self:
        """Train on images (n, C, h, w) of bytes and class numbers (n,)."""
        generator = torch.Generator().manual_seed(self.seed)
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            self._network = _network(pixels.shape[1], int(labels.max()) + 1)
        x, y = _values(pixels), torch.from_numpy(labels)
        steps = self.epochs * -(-len(x) // BATCH)
        optimizer = torch.optim.Adam(self._network.parameters())
        rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, steps)
        for _ in range(self.epochs):
            order = torch.randperm(len(x), generator=generator)
            for batch in (order[part] for part in slices(len(x), BATCH)):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self._network(x[batch]), y[batch])
                torch.autograd.backward(loss)
                optimizer.step()
                rate.step()
        self._network.eval()
        return self

    def predict(self, pixels: np.ndarray) -> np.ndarray:
        """Return the class number of each image."""
        with torch.inference_mode():
            x = _values(pixels)
            parts = [self._network(x[part]).argmax(dim=1) for part in slices(len(x), 1000)]
        return torch.cat(parts).numpy()


def _network(channels: int, classes: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width in (32, 64, 128):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        layers += [nn.MaxPool2d(2)]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(512, classes))


def _values(pixels: np.ndarray) -> Tensor:
    return torch.from_numpy(pixels.astype(np.float32)) / 127.5 - 1
