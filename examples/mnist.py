"""Ten thousand digits from noise, without a network, in half a minute on two cores.

    python examples/mnist.py

Draws a hundred of them to `digits.png`. Needs `train-images-idx3-ubyte` of MNIST, plain or
gzipped, in `~/.cache/sliceflow/mnist` or in the folder that `--data` names. `--seed` gives others,
`--steps` more or fewer steps: the time grows with it, and digits get better up to about 40.
"""

import argparse
import gzip
import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sliceflow import SlicedFlow
from sliceflow.schedules import pyramid

NAME = "train-images-idx3-ubyte"


def digits(folder):
    """Return the images of MNIST, (60000, 1, 28, 28), in [−1, 1]; noise fills the 256 levels."""
    plain, packed = folder / NAME, folder / f"{NAME}.gz"
    if not plain.exists() and not packed.exists():
        raise SystemExit(f"{NAME} is not in {folder}: put it there, or name its folder with --data")
    content = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    levels = np.frombuffer(content, np.uint8, offset=16).reshape(-1, 1, 28, 28)
    noise = np.random.default_rng(0).random(levels.shape, dtype=np.float32)
    return (levels + noise) / 128 - 1


def grid(images, side=10):
    """Return side² images, or as many as there are, as one square."""
    side = min(side, math.isqrt(len(images)))
    rows = images[: side**2].reshape(side, side, 28, 28)
    return rows.transpose(0, 2, 1, 3).reshape(28 * side, 28 * side)


def main():
    """Fit, and draw what came out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path.home() / ".cache/sliceflow/mnist")
    parser.add_argument("--out", type=Path, default=Path("digits.png"))
    parser.add_argument("--particles", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = SlicedFlow(
        n_particles=options.particles,
        schedule=pyramid((1, 28, 28), options.steps),
        batch_size=20_000,
        start=0.1,
        random_state=options.seed,
        verbose=True,
    ).fit(digits(options.data))
    plt.imsave(options.out, grid(model.particles_), cmap="gray", vmin=-1, vmax=1)
    print(f"{options.out} shows some of {len(model.particles_)} digits")


if __name__ == "__main__":
    main()
