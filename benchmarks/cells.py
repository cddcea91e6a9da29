"""Whether the number of cells can be seen in what comes out: digits against the test digits."""

from collections.abc import Iterator

import torch

from benchmarks.ledger import Figure
from sliceflow import ArrayTarget, Fast, Flow, Noise, Spec
from sliceflow.data import load
from sliceflow.flow.schedules import Preset, pyramid
from sliceflow.metrics import sliced_wasserstein

M, SHAPE = 10_000, (1, 28, 28)


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield sliced distances of the particles to 10,000 images that the flow does not see."""
    images = load("mnist")
    levels = torch.from_numpy(images.pixels.reshape(-1, 784).T.copy())
    noise = torch.rand(levels.shape, generator=torch.Generator().manual_seed(0))
    data, unseen = ((levels + noise) / 128 - 1).split([50_000, 10_000], dim=1)
    for cells in (128, 512, 2048):
        schedule = pyramid(SHAPE, Preset(60 // shrink, 30 // shrink, 10 // shrink))
        spec = Spec(SHAPE, schedule, engine=Fast(cells))
        flow = Flow(spec, [ArrayTarget(data.contiguous(), 25_000)], Noise(0.1))
        distance = sliced_wasserstein(flow.run(flow.start(M)).particles.T, unseen.T)
        about = f"sliced distance of digits to unseen ones, B = {cells}"
        yield Figure(f"cells.mnist.{cells}", distance, "", about)
    distance = sliced_wasserstein(data[:, :M].T, unseen.T)
    yield Figure("cells.mnist.data", distance, "", "sliced distance of data to unseen data")
