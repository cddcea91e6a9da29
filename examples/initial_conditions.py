"""Why initial conditions are matched to the data rather than drawn from it.

    python examples/initial_conditions.py

Prints the RMS distance between the conditional flow and the ideal flows of the two-dimensional
illustration, once with the y of the data as the particles' y, and once with y drawn from the data
with replacement.
"""

import numpy as np
import torch

from sliceflow import Columns
from sliceflow.reproduce._illustrations import ideal_map, rms_distance, target_and_start, trajectory


def main(n=5_000):
    """Print the table."""
    data, matched = target_and_start(1, n)
    drawn = matched[:, torch.from_numpy(np.random.default_rng(0).integers(n, size=n))]
    print(f"{'ξ':>4}{'y matched':>12}{'y drawn':>12}")
    for xi in (1, 2, 5, 10, 20):
        distances = []
        for start in (matched, drawn):
            (end,) = trajectory(Columns(1, float(xi)), start, data, [100])
            distances.append(rms_distance(end, ideal_map(start)))
        print(f"{xi:>4}{distances[0]:>12.3f}{distances[1]:>12.3f}", flush=True)


if __name__ == "__main__":
    main()
