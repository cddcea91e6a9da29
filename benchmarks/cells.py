"""Whether the number of cells can be seen in what comes out: digits against the test digits."""

import runpy
from collections.abc import Iterator

import torch

from benchmarks.ledger import ROOT, Figure
from benchmarks.mnist import DATA
from sliceflow import ArrayTarget, Fast, Flow, Noise, Unconditional
from sliceflow.metrics import sliced_wasserstein
from sliceflow.schedules import pyramid

M, SHAPE = 10_000, (1, 28, 28)


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield sliced distances of the particles to 10,000 images that the flow does not see."""
    if not list(DATA.glob("train-images-idx3-ubyte*")):
        print(f"  MNIST is not in {DATA}: skipped")
        return
    images = runpy.run_path(str(ROOT / "examples" / "mnist.py"))["digits"](DATA).reshape(-1, 784)
    data, unseen = torch.from_numpy(images).T.split([50_000, 10_000], dim=1)
    for cells in (128, 512, 2048):
        flow = Flow(
            ArrayTarget(data.contiguous(), 25_000),
            Unconditional(),
            SHAPE,
            pyramid(SHAPE, 20 // shrink),
            Fast(cells),
            initial=Noise(0.1),
        )
        distance = sliced_wasserstein(flow.run(flow.start(M)).particles.T, unseen.T)
        about = f"sliced distance of digits to unseen ones, B = {cells}"
        yield Figure(f"cells.mnist.{cells}", distance, "", about)
    distance = sliced_wasserstein(data[:, :M].T, unseen.T)
    yield Figure("cells.mnist.data", distance, "", "sliced distance of data to unseen data")
