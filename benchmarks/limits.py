"""What limits CIFAR-10: real test images up to a level, all that is finer by the flow."""

from collections.abc import Iterator

import torch
from torch import Tensor

from benchmarks.ledger import Figure
from sliceflow import ArrayTarget, Codec, Flow, Gaussian, Spec
from sliceflow.data import Images, load
from sliceflow.directions._pyramid import LanczosLevel
from sliceflow.flow._starts import Start
from sliceflow.flow.schedules import Stage, pyramid
from sliceflow.reproduce._fits import Judge

M = 3000


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield FID of 3,000 images, between that of untouched ones and that of the flow alone."""
    train, test = load("cifar10")[: 50_000 // shrink**2], load("cifar10", "test")[: M // shrink**2]
    judge, target, codec = Judge(train), mirrored(train), Codec.fit(train.pixels)

    def fid(x: Tensor) -> float:
        return judge.fid_of(codec.decode(x))

    x = codec.encode(test.pixels)
    schedule = pyramid(train.shape, "standard" if shrink == 1 else "quick")
    yield Figure("limits.real", fid(x), "", f"FID of {M:,} test images")
    flow = flow_of(target, train.shape, schedule)
    alone = flow.run(flow.start(x.shape[1])).particles
    yield Figure("limits.flow", fid(alone), "", f"FID of {M:,} samples of the flow alone")
    for k in (16, 12, 8) if shrink == 1 else (16,):
        level = LanczosLevel.orthonormal_at(train.shape, k, x)
        flow = flow_of(target, train.shape, tuple(s for s in schedule if s.resolution > k))
        for name, finer, whose in at_level(level, x, flow):
            about = f"FID of {M:,} test images at {k}×{k}, {whose}"
            yield Figure(f"limits.{name}.{k}", fid(finer), "", about)


def at_level(level: LanczosLevel, x: Tensor, flow: Flow) -> Iterator[tuple[str, Tensor, str]]:
    """Yield what x are at a level, with finer detail of three kinds."""
    u = level.enter(x)
    coarse = level.leave(u)
    yield "blurred", coarse, "without finer detail"
    yield "swapped", coarse + (x - coarse).roll(1, dims=1), "with that of other images"
    yield "flow", refined(flow, level, u), "with that of the flow"


def refined(flow: Flow, level: LanczosLevel, u: Tensor) -> Tensor:
    """Return particles whose coordinates at a level are u, with finer detail by the flow."""
    state = flow.start(u.shape[1])
    level.update(state.particles, u)
    return flow.run(state).particles


def mirrored(train: Images) -> ArrayTarget:
    """Return images and their mirror images as a target, in random order."""
    data = Codec.fit(train.pixels).encode(train.with_flips().pixels)
    order = torch.randperm(data.shape[1], generator=torch.Generator().manual_seed(0))
    return ArrayTarget(data[:, order], 20_000, len(data))


def flow_of(
    target: ArrayTarget,
    shape: tuple[int, ...],
    schedule: tuple[Stage, ...],
    seed: int = 0,
    start: Start = Gaussian(),  # noqa: B008 (it does not change)
) -> Flow:
    """Return a flow, by default from a Gaussian."""
    return Flow(Spec(shape, schedule, seed=seed), [target], start)
