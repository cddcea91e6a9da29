"""Watch digits form: a film, and a strip from noise to digits.

    python examples/film.py

Draws `film.gif` and `evolution.png`, in half a minute on two cores.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from sliceflow import ArrayTarget, Flow, Noise, Unconditional, viz
from sliceflow.data import load
from sliceflow.schedules import pyramid


class Camera:
    """A callback that takes a picture whenever a stage ends."""

    def __init__(self, flow, n):
        self.flow, self.n, self.frames = flow, n, []

    def __call__(self, state):
        """Take one, at the end of a stage, when particles are up to date."""
        if state.step == 0:
            x = state.particles[:, : self.n].T.reshape(self.n, *self.flow.shape)
            self.frames.append((128 * (x + 1)).clamp(0, 255).byte().numpy())


def main():
    """Run a flow and develop the film."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out-dir", type=Path, default=Path())
    parser.add_argument("--particles", type=int, default=5000)
    options = parser.parse_args()
    digits = load("mnist", folder=options.data_dir)
    z = torch.from_numpy((digits.pixels.reshape(len(digits), -1).T + np.float32(0.5)) / 128 - 1)
    target = ArrayTarget(z.contiguous(), batch_size=20_000, n_pixels=len(z))
    schedule = pyramid(digits.shape, "quick")
    flow = Flow(target, Unconditional(), digits.shape, schedule, initial=Noise(0.1))
    camera, state = Camera(flow, 64), flow.start(options.particles)
    camera(state)
    flow.run(state, [camera])
    viz.save_gif(camera.frames, options.out_dir / "film.gif")
    viz.draw(viz.evolution(camera.frames), zoom=2).save(options.out_dir / "evolution.png")
    print(f"film.gif and evolution.png show {len(camera.frames)} moments")


if __name__ == "__main__":
    main()
