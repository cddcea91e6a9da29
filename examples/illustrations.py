"""The paper's two-dimensional illustrations (appendix A) as one figure, and what ξ does.

    python examples/illustrations.py

Draws `illustrations.png` and prints how far the conditional flow (CSWF) is from the ideal flows,
one for each y, for ξ = 1, 2, 5, 10. Takes half a minute. `--out` names another file.

The target q(x, y) is a mixture of two Gaussians, and p₀ is q with the two exchanged in x, so that
p₀(y) = q(y): ideally each x moves to the other side and y stays.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.special import expit, ndtr

from sliceflow import ArrayTarget, Columns, Exact, Flow, Stage, Unconditional
from sliceflow.metrics import sliced_wasserstein

FAR, NEAR, WIDTH = 1.0, 0.75, 0.25
ETA, DIRECTIONS = 0.2, 64
SHOWN = [0, 3, 8, 15, 30, 200]


def target_and_start(seed, n):
    """Return n points (x, y) of q and of p₀, each (2, n)."""
    rng = np.random.default_rng(seed)
    side = rng.choice([-1, 1], size=n)
    x, x_start, y = side * [[FAR], [-FAR], [NEAR]] + WIDTH * rng.normal(size=(3, n))
    return (torch.from_numpy(np.stack([x, y])).float() for x in (x, x_start))


def trajectory(condition, start, data, steps):
    """Return the particles after each number of steps, starting with ``start``."""
    d = 2 - condition.l
    engine = Exact(DIRECTIONS, ETA)
    flow = Flow(ArrayTarget(data), condition, (d,), (Stage(max(steps)),), engine)
    state, seen = flow.start(2), {0: start.clone()}
    state.swarms = [start.clone(), start[:, :0]]

    def keep(state):
        seen[state.step or max(steps)] = state.particles.clone()

    flow.run(state, [keep])
    return [seen[step] for step in steps]


def ideal_map(start):
    """Return where the ideal flow given y takes each x: F⁻¹ of q(x | y) after F of p₀(x | y)."""
    x, y = start.double()
    weight = expit(2 * NEAR * y / WIDTH**2)  # of the component at +FAR in q(x | y)

    def cdf(x, weight):
        return weight * ndtr((x - FAR) / WIDTH) + (1 - weight) * ndtr((x + FAR) / WIDTH)

    ranks = cdf(x, 1 - weight)
    low, high = torch.full_like(x, -10), torch.full_like(x, 10)
    for _ in range(60):  # bisection: F has no inverse in closed form
        middle = (low + high) / 2
        below = cdf(middle, weight) < ranks
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return torch.stack([middle, y]).float()


def ideal_trajectory(start, steps):
    """Return the ideal flows. In one dimension particles go straight to where the map takes them.

    The rate is that of the joint flow for ξ → ∞, where half of a direction, on average, is x.
    """
    end = ideal_map(start)
    return [end + (1 - ETA / 2) ** step * (start - end) for step in steps]


def rows(n=2000):
    """Yield the title, the trajectory and the target of each illustration."""
    data, start = target_and_start(0, n)
    apart = torch.tensor([[1.0], [10.0]])
    joint = Unconditional()
    yield "joint SWF", trajectory(joint, start, data, SHOWN), data
    yield "ideal conditional SWFs", ideal_trajectory(start, SHOWN), data
    far = trajectory(joint, apart * start, apart * data, SHOWN)
    yield "joint SWF, stretched by 10 in y", far, apart * data
    yield "CSWF, ξ = 10", trajectory(Columns(1, 10.0), start, data, SHOWN), data
    yield "CSWF, ξ = 1", trajectory(Columns(1, 1.0), start, data, SHOWN), data


def draw(path):
    """Draw all illustrations, one in each row, from left to right in time."""
    figure, axes = plt.subplots(5, len(SHOWN), figsize=(13, 9), sharex=True, sharey="row")
    for line, (title, particles, data) in zip(axes, rows(), strict=True):
        colours = np.where(particles[0][1] > 0, "tab:red", "tab:orange")
        for axis, step, (x, y) in zip(line, SHOWN, particles, strict=True):
            axis.scatter(*data, s=2, color="lightsteelblue", linewidths=0)
            axis.scatter(x, y, s=2, c=colours, linewidths=0)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_xlabel(f"step {step}", fontsize=8)
        line[0].set_title(title, loc="left", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def rms_distance(particles, others):
    """Return the root of the mean square distance of each particle (2, n) to its counterpart."""
    return (particles - others).square().sum(dim=0).mean().sqrt()


def amplifier_table(n=5_000):
    """Print the distance between CSWF and the ideal flows for growing ξ."""
    data, start = target_and_start(1, n)
    ideal = ideal_map(start)
    print(f"{'ξ':>4}{'RMS distance of particles':>28}{'sliced distance':>18}")
    for xi in (1, 2, 5, 10):
        (end,) = trajectory(Columns(1, float(xi)), start, data, [100])
        rms, sliced = rms_distance(end, ideal), sliced_wasserstein(end.T, ideal.T)
        print(f"{xi:>4}{rms:>28.3f}{sliced:>18.3f}", flush=True)


def main():
    """Draw the figure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="illustrations.png", help="the figure's file")
    out = parser.parse_args().out
    draw(out)
    print(f"drew {out}")
    amplifier_table()


if __name__ == "__main__":
    main()
