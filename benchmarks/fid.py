"""Whether FID is FID: against torchmetrics, by a known value, and in lower precision."""

from collections.abc import Iterator

import numpy as np
import torch
from torchmetrics.image.fid import FrechetInceptionDistance

from benchmarks.ledger import Figure
from sliceflow.data import Images, load
from sliceflow.metrics import Inception, Statistics, frechet_distance, reference_features
from sliceflow.reproduce._fits import FEATURES, inception


class AsFeatures(torch.nn.Module):
    """Our network as the feature network of torchmetrics."""

    num_features = 2048

    def __init__(self, inception: Inception) -> None:
        super().__init__()
        self.inception = inception

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return features of images of bytes."""
        return torch.from_numpy(self.inception(pixels.numpy())).double()


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID by both, the known value of CIFAR-10, and the difference bfloat16 makes."""
    train, test = load("cifar10"), load("cifar10", "test")
    n, fast = 1000 // shrink**2, inception()
    few = [images[:n] for images in (train, test)]
    sets = [[net(x.pixels, progress=True) for x in few] for net in (Inception(), fast)]
    values = [frechet_distance(*map(Statistics.of, pair)) for pair in sets]
    ours, theirs = values[1], by_torchmetrics(*few, fast)
    about = f"FID of {n:,} CIFAR-10 test images to as many training images"
    yield Figure("fid.same.sliceflow", ours, "", about)
    yield Figure("fid.same.torchmetrics", theirs, "", f"{about}, by torchmetrics")
    yield Figure("fid.same.relative", abs(ours / theirs - 1), "", "relative difference of the two")
    if fast.precision == "bfloat16":
        yield from lower_precision(sets, values, about)
    if shrink == 1:
        real = [reference_features(x.pixels, fast, FEATURES, progress=True) for x in (train, test)]
        value = frechet_distance(*map(Statistics.of, real))
        yield Figure(
            "fid.cifar10.test",
            value,
            "",
            "FID of the 10,000 CIFAR-10 test images to the 50,000 training images",
        )


def lower_precision(
    sets: list[list[np.ndarray]], values: list[float], about: str
) -> Iterator[Figure]:
    """Yield how far features in bfloat16, and FID by them, are from those in float32."""
    exact, fast = values
    yield Figure("fid.bfloat16.float32", exact, "", f"{about}, features in float32")
    what = "and in bfloat16: relative difference"
    yield Figure("fid.bfloat16.relative", abs(fast / exact - 1), "", what)
    difference = np.abs(sets[1][1] - sets[0][1]).mean() / sets[0][1].std()
    what = "mean difference of features in bfloat16 / their deviation"
    yield Figure("features.bfloat16", difference, "", what)


def by_torchmetrics(train: Images, test: Images, network: Inception) -> float:
    """Return FID by torchmetrics, with our features."""
    metric = FrechetInceptionDistance(feature=AsFeatures(network), input_img_size=(3, 32, 32))
    metric.set_dtype(torch.float64)
    metric.update(torch.from_numpy(train.pixels.copy()), real=True)
    metric.update(torch.from_numpy(test.pixels.copy()), real=False)
    return float(metric.compute())
