"""The two halves of CIFAR-10, so that each can be improved by itself.

The fine half: test images keep their content up to 16×16, and the flow generates what is finer. The
coarse half: what the flow generates up to 16×16, and real images, both without finer detail. To try
a schedule, add it to `SCHEDULES`: all are compared in one run, with the same images.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from torch import Tensor

from benchmarks.choices import QUICK
from benchmarks.ledger import Figure
from benchmarks.limits import M, flow_of, mirrored, refined
from sliceflow import Codec
from sliceflow.data import load
from sliceflow.directions._pyramid import LanczosLevel
from sliceflow.flow.schedules import Stage, pyramid, scaled
from sliceflow.reproduce._fits import PART, Judge

HALF, SEEDS = 16, 3
SCHEDULES = {
    "quick": QUICK,
    "standard": pyramid((3, 32, 32), "standard"),
    "quick, three times the steps": scaled(QUICK, 3),
    "the same, shrinking to 0.1": tuple(
        replace(stage, step_size=(1.0, 0.1)) for stage in scaled(QUICK, 3)
    ),
}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the FID of both halves for each schedule, and how much it differs between seeds."""
    halves = Halves(shrink)
    n = halves.x.shape[1]
    for half, fid in (("coarse", halves.coarse_fid), ("fine", halves.fine_fid)):
        yield Figure(f"halves.{half}.real", fid(halves.x), "", f"{half} half: FID of {n:,} images")
    for number, name in enumerate(SCHEDULES):
        for half, of in (("coarse", halves.coarse), ("fine", halves.fine)):
            fids = [of(SCHEDULES[name], seed) for seed in range(1 if number else SEEDS)]
            yield Figure(
                f"halves.{half}.{number}", fids[0], "", f"{half} half: FID of {n:,}, {name}"
            )
            if len(fids) > 1:
                about = f"{half} half: largest difference between {SEEDS} seeds, {name}"
                yield Figure(f"halves.{half}.noise", float(np.ptp(fids)), "", about)
        if shrink > 1:
            return


class Halves:
    """Test images, and what judges each half."""

    def __init__(self, shrink: int) -> None:
        train = load("cifar10")[: 50_000 // shrink**2]
        self.shape, self.codec, self.target = train.shape, Codec.fit(train.pixels), mirrored(train)
        self.x = self.codec.encode(load("cifar10", "test").pixels[: M // shrink**2])
        self.level = LanczosLevel.orthonormal_at(train.shape, HALF, self.x)
        real = train[: PART // shrink]
        self.sharp = Judge(real)
        self.blurred = Judge(replace(real, pixels=self._blur(self.codec.encode(real.pixels))))

    def coarse(self, schedule: tuple[Stage, ...], seed: int) -> float:
        """Return the FID of the coarse half."""
        stages = tuple(stage for stage in schedule if stage.resolution <= HALF)
        flow = flow_of(self.target, self.shape, stages, seed)
        return self.coarse_fid(flow.run(flow.start(self.x.shape[1])).particles)

    def fine(self, schedule: tuple[Stage, ...], seed: int) -> float:
        """Return the FID of the fine half."""
        stages = tuple(stage for stage in schedule if stage.resolution > HALF)
        flow = flow_of(self.target, self.shape, stages, seed)
        return self.fine_fid(refined(flow, self.level, self.level.enter(self.x)))

    def coarse_fid(self, x: Tensor) -> float:
        """Return the FID of particles without finer detail, to images without it."""
        return self.blurred.fid_of(self._blur(x))

    def fine_fid(self, x: Tensor) -> float:
        """Return the FID of particles to images."""
        return self.sharp.fid_of(self.codec.decode(x))

    def _blur(self, x: Tensor) -> np.ndarray:
        blurred: np.ndarray = self.codec.decode(self.level.leave(self.level.enter(x)))
        return blurred
