"""Inpainting half of test images: samples against the truth and the nearest training image."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sliceflow.codec._checks import check_mask
from sliceflow.data import Images, load
from sliceflow.metrics import nearest
from sliceflow.reproduce._figures import Figure
from sliceflow.reproduce._fits import fit, save
from sliceflow.viz import triptych

PARTICLES = {"mnist": 10_000, "fashion-mnist": 10_000, "cifar10": 10_000, "celeba": 3_000}
SAMPLES = 10


def inpainting(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield distances over missing pixels, in levels of 256; draw some images."""
    for name in PARTICLES if shrink == 1 else ["mnist"]:
        train, test = _split(name)
        train, test = train[: 20_000 // shrink], test[: 100 // shrink]
        for half in ("left", "top"):
            yield from _inpaint(name, half, train, test, out, shrink)


def _split(name: str) -> tuple[Images, Images]:
    """Return training and test images. For CelebA, which may be partial, test on the last ones."""
    train = load(name)
    if name == "celeba":
        return train[:-500], train[-500:]
    return train, load(name, "test")


def _inpaint(
    name: str, half: str, train: Images, test: Images, out: Path, shrink: int
) -> Iterator[Figure]:
    """Yield metrics for one data set, given one half of its images."""
    model, cost = fit(
        train,
        schedule="quick",
        n_particles=PARTICLES[name] // shrink,
        observed=half,
        knots=64,
        batch_size=20_000,
    )
    assert model.model_ is not None
    mask = check_mask(half, train.shape).reshape(train.shape).numpy()
    given = test.pixels.repeat(SAMPLES, axis=0)
    samples = model.sample(len(given), y=given, random_state=0)
    changed = int((samples[:, mask] != given[:, mask]).sum())
    samples = samples.reshape(len(test), SAMPLES, *train.shape)
    label = f"inpainting.{name}.{half}"
    yield Figure(f"{label}.changed", changed, "", f"observed pixels that changed, {name}, {half}")
    best = _distance(samples, test.pixels[:, None], mask).min(axis=1).mean()
    about = f"what is missing, given the {half} half, {name}: "
    yield Figure(label, best, "", f"{about}best of {SAMPLES} samples to the truth; {cost}")
    _, number = nearest(test.pixels[:, mask], train.pixels[:, mask])
    copied = _distance(train.pixels[number[:, 0]], test.pixels, mask).mean()
    yield Figure(f"{label}.nearest", copied, "", f"{about}nearest training image to the truth")
    save(triptych(test.pixels[:8], mask, samples[:8, :6]), out, label)


def _distance(a: np.ndarray, b: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the root mean square difference over pixels that are not observed."""
    distances: np.ndarray = np.sqrt(np.square(a.astype(float) - b)[..., ~mask].mean(axis=-1))
    return distances
