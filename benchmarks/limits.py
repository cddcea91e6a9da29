"""What limits CIFAR-10: real test images up to a level, all that is finer by the flow."""

from collections.abc import Iterator

import torch
from torch import Tensor

from benchmarks._images import Judge
from benchmarks.ledger import Figure
from sliceflow import ArrayTarget, Flow, Gaussian, Unconditional
from sliceflow.data import Images, load, to_bytes
from sliceflow.pyramid import LanczosLevel
from sliceflow.schedules import pyramid

M = 3000


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID of 3,000 images; the same number of untouched ones is the floor."""
    train, test = load("cifar10")[: 50_000 // shrink**2], load("cifar10", "test")[: M // shrink**2]
    judge, target = Judge(train), mirrored(train)

    def fid(x: Tensor) -> float:
        return judge.fid_of(to_bytes(x.numpy(), train.shape))

    x, preset = torch.from_numpy(test.particles()), "standard" if shrink == 1 else "quick"
    yield Figure("limits.real", fid(x), "", f"FID of {M:,} test images")
    for k in (16, 12, 8) if shrink == 1 else (16,):
        level = LanczosLevel.orthonormal_at(train.shape, k, x)
        coarse = level.leave(level.enter(x))
        about = f"FID of {M:,} test images at {k}×{k}"
        yield Figure(f"limits.blurred.{k}", fid(coarse), "", f"{about}, without finer detail")
        other = coarse + (x - coarse).roll(1, dims=1)
        yield Figure(f"limits.swapped.{k}", fid(other), "", f"{about}, with that of other images")
        ours = finer(target, x, level, k, preset)
        yield Figure(f"limits.flow.{k}", fid(ours), "", f"{about}, with that of the flow")


def mirrored(train: Images) -> ArrayTarget:
    """Return images and their mirror images as a target, in random order."""
    data = torch.from_numpy(train.with_flips().particles())
    order = torch.randperm(data.shape[1], generator=torch.Generator().manual_seed(0))
    return ArrayTarget(data[:, order], 20_000, len(data))


def finer(target: ArrayTarget, x: Tensor, level: LanczosLevel, k: int, preset: str) -> Tensor:
    """Return particles that begin as x at the level, and as a Gaussian above it."""
    schedule = tuple(s for s in pyramid(level.shape, preset) if (s.resolution or 0) > k)
    flow = Flow(target, Unconditional(), level.shape, schedule, initial=Gaussian())
    state = flow.start(x.shape[1])
    level.update(state.particles, level.enter(x))
    return flow.run(state).particles
