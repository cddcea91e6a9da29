"""Images by class: whether a classifier sees what was asked for, as ξ grows."""

from collections.abc import Iterator

from benchmarks._images import available, fit, save
from benchmarks.ledger import Figure
from sliceflow import viz
from sliceflow.metrics import Classifier

NAMES = ("mnist", "fashion-mnist", "cifar10")
LABELS = {"fashion-mnist": "fashion"}
EPOCHS = {"cifar10": 10}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield agreement with the label that was asked for, and draw a row for each class."""
    for name in NAMES if shrink == 1 else NAMES[:1]:
        images, test = available(name), available(name, "test")
        if images is None or test is None:
            continue
        images, label = images[: len(images) // shrink**2], LABELS.get(name, name)
        judge = Classifier(EPOCHS.get(name, 3)).fit(images.pixels, images.labels)
        seen = float((judge.predict(test.pixels) == test.labels).mean())
        yield Figure(f"classifier.{label}", seen, "", f"accuracy of the judge, {name} test images")
        for xi in (0, 2, 5, 10) if shrink == 1 else (10,):
            settings = {"schedule": "quick", "batch_size": 20_000}
            model, cost = fit(
                images, labels=True, n_particles=10_000 // shrink**2, amplifier=xi, **settings
            )
            samples, asked = model.particles_, model.conditions_
            agreement = float((judge.predict(samples) == asked).mean())
            row = f"class_agreement.{label}" + ("" if xi == 10 else f".xi{xi}")
            about = f"samples that the judge sees as what was asked for, {name}, ξ = {xi}"
            yield Figure(row, agreement, "", f"{about}; {cost}")
            save(viz.class_rows(samples, asked), f"{label}-classes-{xi}", shrink, zoom=1)
