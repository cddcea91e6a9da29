"""Small fits of every kind give the bits that are recorded here: the code may change, they may not.

Bits depend on the machine's arithmetic too, such as the instructions that MKL chooses. So the
file also has the bits of some bare operations. Where these differ, the fits cannot be compared.

`python tests/test_same_bits.py` records the bits of this code on this machine.
"""

import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

from sliceflow import Exact, SlicedFlow, Stage
from sliceflow.data import stream

RECORDED = Path(__file__).with_suffix(".json")
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(400, 3)).astype(np.float32) @ RNG.normal(size=(3, 3)).astype(np.float32)
NUMBERS = TABLE[:, :2] + RNG.normal(size=(400, 2)).astype(np.float32)
IMAGES = RNG.integers(256, size=(300, 1, 8, 8)).astype(np.uint8)
LABELS = RNG.integers(3, size=400)
PHOTOS = RNG.integers(256, size=(200, 3, 8, 6)).astype(np.uint8)
WIDE = np.concatenate([TABLE] * 30, axis=1) + RNG.normal(size=(400, 90)).astype(np.float32)
STAGES = [Stage(3, 4), Stage(3, 6, 4, band=(1, 3, None)), Stage(3, 8, 3, shared=True)]
COLOURS = [Stage(3, 4), Stage(3, 6, 4, band=2)]
PATCHES = [Stage(3, 4), Stage(3, 8, 3)]


def flow(**settings):
    return SlicedFlow(**{"n_particles": 300, "random_state": 0} | settings)


def exact(folder):
    paper = flow(schedule=20, engine=Exact(7)).fit(TABLE, LABELS)
    patches = flow(schedule=PATCHES, engine=Exact(70)).fit(IMAGES, LABELS[:300])
    liutkus = Exact(7, entropy=0.01, fixed_directions=True, n_cdf=100)
    return [paper, patches, flow(schedule=20, engine=liutkus).fit(TABLE)]


def fast(folder):
    colours = flow(schedule=COLOURS, batch_size=50).fit(PHOTOS)
    return [flow(schedule=20, batch_size=100).fit(TABLE), flow(schedule=5).fit(WIDE), colours]


def labels(folder):
    table = flow(schedule=20, balanced=True).fit(TABLE, np.array(["ant", "bee", "cow"])[LABELS])
    return [table, flow(schedule=STAGES).fit(IMAGES, LABELS[:300])]


def columns(folder):
    fits = [flow(schedule=20, amplifier=1.0) for _ in range(2)]
    return [fit.fit(TABLE, y) for fit, y in zip(fits, (NUMBERS, NUMBERS[:, 0]), strict=True)]


def numbers(folder):
    return [flow(schedule=20).fit(TABLE, NUMBERS)]


def mask(folder):
    return [
        flow(schedule=STAGES, observed="left").fit(IMAGES),
        flow(schedule=20, observed=[True, False, False]).fit(TABLE),
    ]


def streamed(folder):
    np.savez(folder / "images.npz", images=IMAGES, labels=LABELS[:300])
    np.save(folder / "table.npy", TABLE)
    images = stream(folder / "images.npz")
    table = flow(schedule=20, batch_size=100).fit(stream(folder / "table.npy"))
    return [flow(schedule=STAGES, batch_size=100).fit(images), table]


def two_shards(folder):
    table = flow(schedule=20, batch_size=100).fit(TABLE, LABELS, shards=2)
    return [table, flow(schedule=STAGES).fit(IMAGES, shards=2)]


def resumed(folder):
    """Stopped in the middle of a stage, at a level of the pyramid."""
    estimator = flow(schedule=STAGES)

    def stop(state):
        if (state.stage, state.step) == (1, 2):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        estimator.plan(IMAGES).run([stop], folder / "checkpoints", checkpoint_minutes=0)
    return [flow(schedule=STAGES).fit(IMAGES, checkpoints=folder / "checkpoints")]


KINDS = (exact, fast, labels, columns, numbers, mask, streamed, two_shards, resumed)
FITS = {f.__name__: f for f in KINDS}


def digest(fitted):
    """Return a sum of the particles of each fit and of new samples."""
    total = hashlib.sha256()
    for model in fitted:
        y = model.conditions_
        y = model.particles_ if model.observed is not None else y
        given = None if y is None else y[:40]
        total.update(np.ascontiguousarray(model.particles_).tobytes())
        total.update(np.ascontiguousarray(model.sample(40, given, random_state=1)).tobytes())
    return total.hexdigest()


def arithmetic():
    """Return a sum of the results of bare operations that differ among machines."""
    a = torch.from_numpy(np.random.default_rng(0).normal(size=(64, 300)))
    total = hashlib.sha256()
    for x in (a, a.float()):
        square = x @ x.T
        results = [square, x.exp(), torch.linalg.qr(x[:, :48]).R, torch.linalg.svdvals(square)]
        results += [torch.linalg.eigvalsh(square), torch.linalg.cholesky(square), x.std(dim=1)]
        for result in results:
            total.update(result.contiguous().numpy().tobytes())
    return total.hexdigest()


@pytest.mark.parametrize("name", FITS)
def test_a_fit_has_the_recorded_bits(name, tmp_path):
    recorded = json.loads(RECORDED.read_text())
    if arithmetic() != recorded["arithmetic"]:
        pytest.skip("this machine rounds otherwise than the one where the bits were recorded")
    assert digest(FITS[name](tmp_path)) == recorded[name]


if __name__ == "__main__":
    bits = {"arithmetic": arithmetic()}
    for name, fits in FITS.items():
        with tempfile.TemporaryDirectory() as folder:
            bits[name] = digest(fits(Path(folder)))
    RECORDED.write_text(json.dumps(bits, indent=1) + "\n")
