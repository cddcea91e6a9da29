"""Class-conditional images: how often a classifier agrees with the given label, as ξ grows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sliceflow.data import Images, load
from sliceflow.metrics import Classifier
from sliceflow.reproduce._figures import Figure
from sliceflow.reproduce._fits import fit, save
from sliceflow.viz import class_rows


class Case(NamedTuple):
    """A data set, its name in the ledger, the epochs of the classifier, and the schedule."""

    data: str
    label: str
    epochs: int
    preset: str


CASES = (
    Case("mnist", "mnist", 3, "standard"),
    Case("fashion-mnist", "fashion", 3, "standard"),
    Case("cifar10", "cifar10", 10, "quick"),
)


def classes(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield the agreement with given labels, and draw a row for each class."""
    for case in CASES if shrink == 1 else CASES[:1]:
        images, test = load(case.data), load(case.data, "test")
        images = images[: len(images) // shrink**2]
        assert images.labels is not None
        judge = Classifier(case.epochs).fit(images.pixels, images.labels)
        accuracy = float((judge.predict(test.pixels) == test.labels).mean())
        about = f"accuracy of the judge, {case.data} test images"
        yield Figure(f"classifier.{case.label}", accuracy, "", about)
        # From noise, particles know their class only through ξ. The default start of colour images
        # is a blend of images of the class, which a classifier may tell before the first step.
        for xi in (0, 2, 5, 10) if shrink == 1 else (0, 10):
            yield _agreement(case, images, judge, out, shrink, f"{xi}", amplifier=xi, start=0.1)
        if images.shape[0] == 3:
            yield _agreement(case, images, judge, out, shrink, "default")


def _agreement(
    case: Case,
    images: Images,
    judge: Classifier,
    out: Path,
    shrink: int,
    xi: str,
    **settings: Any,
) -> Figure:
    """Return the fraction of samples that the classifier assigns to their given label."""
    settings |= {"schedule": case.preset if shrink == 1 else "quick", "batch_size": 20_000}
    model, cost = fit(images, labels=True, n_particles=10_000 // shrink**2, **settings)
    samples, given = model.particles_, model.conditions_
    assert given is not None
    save(class_rows(samples, given), out, f"{case.label}-classes-{xi}", zoom=1)
    row = f"class_agreement.{case.label}" + {"10": "", "default": ".default"}.get(xi, f".xi{xi}")
    how = "default start" if xi == "default" else f"ξ = {xi}"
    about = f"samples that the judge sees as what was asked for, {case.data}, {how}; {cost}"
    return Figure(row, float((judge.predict(samples) == given).mean()), "", about)
