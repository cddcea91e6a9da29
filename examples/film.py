"""Watch digits form: a film, and a strip from noise to digits.

    python examples/film.py

Draws `film.gif` and `evolution.png`.
"""

import argparse
from pathlib import Path

import torch

from sliceflow import ArrayTarget, Flow, Noise, Unconditional, viz
from sliceflow.data import load, to_bytes
from sliceflow.schedules import pyramid


class Camera:
    """A callback that takes a picture whenever a stage ends."""

    def __init__(self, shape, n):
        self.shape, self.n, self.frames = shape, n, []

    def __call__(self, state):
        """Take one, at the end of a stage, when particles are up to date."""
        if state.step == 0:
            self.frames.append(to_bytes(state.particles[:, : self.n].numpy(), self.shape))


def main():
    """Run a flow and develop the film."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out-dir", type=Path, default=Path())
    parser.add_argument("--n-particles", type=int, default=5000)
    options = parser.parse_args()
    digits = load("mnist", folder=options.data_dir)
    z = torch.from_numpy(digits.particles())
    target = ArrayTarget(z, batch_size=20_000, n_pixels=len(z))
    schedule = pyramid(digits.shape, "quick")
    flow = Flow([target], Unconditional(), digits.shape, schedule, initial=Noise(0.1))
    camera, state = Camera(digits.shape, 64), flow.start(options.n_particles)
    camera(state)
    flow.run(state, [camera])
    viz.save_gif(camera.frames, options.out_dir / "film.gif")
    viz.draw(viz.evolution(camera.frames), zoom=2).save(options.out_dir / "evolution.png")
    print(f"film.gif and evolution.png show {len(camera.frames)} moments")


if __name__ == "__main__":
    main()
