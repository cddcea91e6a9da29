"""What limits CIFAR-10: real test images up to a level, all that is finer by the flow."""

from collections.abc import Iterator

import torch
from torch import Tensor

from benchmarks._images import FEATURES, available
from benchmarks.ledger import Figure
from sliceflow import ArrayTarget, Flow, Gaussian, Unconditional
from sliceflow.data import Images
from sliceflow.metrics import Inception, Statistics, frechet_distance, reference_features
from sliceflow.pyramid import LanczosLevel
from sliceflow.schedules import pyramid

M = 5000


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID of 5,000 images; the same number of untouched ones is the floor."""
    train, test = available("cifar10"), available("cifar10", "test")
    if train is None or test is None:
        return
    train, test = train[: 50_000 // shrink**2], test[: M // shrink]
    inception = Inception(fast=True)
    real = Statistics.of(reference_features(train.pixels, inception, FEATURES, progress=True))

    def fid(x: Tensor) -> float:
        levels = (128 * (x.T.reshape(-1, *train.shape) + 1)).clamp(0, 255).byte().numpy()
        return frechet_distance(Statistics.of(inception(levels)), real)

    x, preset = brightness(test), "standard" if shrink == 1 else "quick"
    yield Figure("limits.real", fid(x), "", f"FID of {M:,} test images")
    for k in (16, 12, 8, 4) if shrink == 1 else (16,):
        level = LanczosLevel.orthonormal_at(train.shape, k, x)
        coarse = level.leave(level.enter(x))
        about = f"FID of {M:,} test images at {k}×{k}"
        yield Figure(f"limits.blurred.{k}", fid(coarse), "", f"{about}, without finer detail")
        other = coarse + (x - coarse).roll(1, dims=1)
        yield Figure(f"limits.swapped.{k}", fid(other), "", f"{about}, with that of other images")
        ours = finer(train, x, level, k, preset)
        yield Figure(f"limits.flow.{k}", fid(ours), "", f"{about}, with that of the flow")


def brightness(images: Images) -> Tensor:
    """Return images as particles (D, n), in [−1, 1]."""
    return (torch.from_numpy(images.pixels.reshape(len(images), -1).T.copy()) + 0.5) / 128 - 1


def finer(train: Images, x: Tensor, level: LanczosLevel, k: int, preset: str) -> Tensor:
    """Return particles that begin as x at the level, and as a Gaussian above it."""
    data = brightness(train.with_flips())
    order = torch.randperm(data.shape[1], generator=torch.Generator().manual_seed(0))
    target = ArrayTarget(data[:, order], 20_000, len(data))
    schedule = tuple(s for s in pyramid(train.shape, preset) if (s.resolution or 0) > k)
    flow = Flow(target, Unconditional(), train.shape, schedule, initial=Gaussian())
    state = flow.start(x.shape[1])
    level.update(state.particles, level.enter(x))
    return flow.run(state).particles
