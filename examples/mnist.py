"""Ten thousand digits from noise, without a network.

    python examples/mnist.py

Writes a picture of a hundred of them to `digits.png`. MNIST is downloaded once, to the folder that
`--data-dir` names. `docs/results.md` says how long this takes. `--schedule standard` and
`--schedule best` take longer, and come nearer to the data.
"""

import argparse
from pathlib import Path

from sliceflow import SlicedFlow, schedules, viz
from sliceflow.data import load


def main():
    """Fit, and save a picture of the particles."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, default=Path("digits.png"))
    parser.add_argument("--n-particles", type=int, default=10_000)
    parser.add_argument("--schedule", choices=schedules.PRESETS, default="quick")
    parser.add_argument("--random-state", type=int, default=0)
    options = parser.parse_args()
    try:
        digits = load("mnist", folder=options.data_dir)
    except ConnectionError as error:
        raise SystemExit(error) from None
    model = SlicedFlow(
        n_particles=options.n_particles,
        schedule=options.schedule,
        batch_size=20_000,
        random_state=options.random_state,
    ).fit(digits.pixels, verbose=True)
    viz.draw(viz.grid(model.particles_[:100], columns=10)).save(options.out)
    print(f"{options.out} shows some of {len(model.particles_)} digits")


if __name__ == "__main__":
    main()
