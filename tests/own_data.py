"""What a person may have: a folder of photos with a folder for each class, and a table."""

import numpy as np
from PIL import Image


def make_photos(folder, classes, n, shape=(12, 10)):
    """Write n colour photos of each class, one class brighter than the other."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for i in range(n):
            pixels = rng.integers(100, size=(*shape, 3)) + 150 * (number == 0)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{i}.png")


def make_table(path, columns, classes, n):
    """Write a CSV file of two columns of numbers, and one of classes."""
    values = np.random.default_rng(0).normal(size=n)
    rows = [f"{x},{2 * x},{classes[i % len(classes)]}" for i, x in enumerate(values)]
    path.write_text("\n".join([",".join(columns), *rows]))
