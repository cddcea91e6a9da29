"""How many images a blend should add up: FID, and how alike samples are to single images."""

from collections.abc import Iterator

import numpy as np

from benchmarks.choices import QUICK
from benchmarks.ledger import Figure
from benchmarks.limits import flow_of, mirrored
from sliceflow import Blends, Codec, Gaussian
from sliceflow.data import load
from sliceflow.flow.schedules import refining
from sliceflow.metrics import detail_correlation
from sliceflow.reproduce._fits import PART, Judge

M, JUDGED, COMPARED = 5000, 2000, 500
STARTS = {4: Blends(1), 8: Blends(2), 16: Blends(4), 32: Blends(8), "gaussian": Gaussian()}

ABOUT = {
    "alike": "correlation of detail with the most alike training image, median",
    "seen": "the same with the most alike of 10,000 training images",
    "unseen": "the same with the most alike of the 10,000 test images",
}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the FID of samples that start from blends, and their correlation with single images."""
    few = shrink**2
    train = load("cifar10")[: 50_000 // few]
    judge, codec, target = Judge(train[:PART]), Codec.fit(train.pixels), mirrored(train)
    test, n = load("cifar10", "test"), 10_000 // few
    sets = {"alike": train, "seen": train[:n], "unseen": test[:n]}
    data = {kind: images.with_flips().pixels for kind, images in sets.items()}

    def alike(pixels: np.ndarray, kind: str) -> float:
        return float(np.median(detail_correlation(pixels[: COMPARED // few], data[kind])))

    for kind in ("alike", "seen"):
        value = alike(test.pixels, kind)
        yield Figure(f"blends.{kind}.test", value, "", f"{ABOUT[kind]}: test images")
    for name, start in STARTS.items() if shrink == 1 else [(4, Blends(1))]:
        schedule = QUICK if name == "gaussian" else refining(train.shape, "quick")
        flow = flow_of(target, train.shape, schedule, seed=1, start=start)
        pixels = codec.decode(flow.run(flow.start(M // few)).particles[:, : JUDGED // few])
        whose = "a Gaussian" if name == "gaussian" else f"blends of {name}"
        fid = judge.fid_of(pixels)
        yield Figure(f"blends.fid.{name}", fid, "", f"FID of {len(pixels):,} from {whose}")
        for kind, about in ABOUT.items():
            value = alike(pixels, kind)
            yield Figure(f"blends.{kind}.{name}", value, "", f"{about}: samples from {whose}")
