"""Watch digits form: an animation, and a picture of the stages from noise to digits.

    python examples/film.py

Writes `film.gif` and `evolution.png`.
"""

import argparse
from pathlib import Path

from sliceflow import ArrayTarget, Codec, Flow, Noise, Spec, schedules, viz
from sliceflow.data import load


class Camera:
    """A callback that takes a picture whenever a stage ends."""

    def __init__(self, codec, n):
        self.codec, self.n, self.frames = codec, n, []

    def __call__(self, state):
        """Take a picture at the end of a stage: within a stage, particles may not be up to date."""
        if state.step == 0:
            self.frames.append(self.codec.decode(state.particles[:, : self.n]))


def main():
    """Run a flow and save the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out-dir", type=Path, default=Path())
    parser.add_argument("--n-particles", type=int, default=5000)
    options = parser.parse_args()
    digits = load("mnist", folder=options.data_dir)
    codec = Codec.fit(digits.pixels)
    target = ArrayTarget(codec.encode(digits.pixels), 20_000, codec.n_pixels)
    flow = Flow(Spec(digits.shape, schedules.pyramid(digits.shape, "quick")), [target], Noise(0.1))
    camera, state = Camera(codec, 64), flow.start(options.n_particles)
    camera(state)
    flow.run(state, [camera])
    viz.save_gif(camera.frames, options.out_dir / "film.gif")
    viz.draw(viz.evolution(camera.frames), zoom=2).save(options.out_dir / "evolution.png")
    print(f"film.gif and evolution.png show {len(camera.frames)} moments")


if __name__ == "__main__":
    main()
