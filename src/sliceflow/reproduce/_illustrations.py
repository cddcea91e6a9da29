"""The paper's two-dimensional illustrations (appendix A) as one figure, and what ξ does.

The target q(x, y) is a mixture of two Gaussians, and p₀ is q with the two exchanged in x, so that
p₀(y) = q(y): ideally each x moves to the other side and y stays.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.special import expit, ndtr

from sliceflow.codec._conditions import Columns, Condition, Unconditional
from sliceflow.flow._engines import Exact
from sliceflow.flow._flow import Flow
from sliceflow.flow._spec import Spec
from sliceflow.flow._state import State
from sliceflow.flow._targets import ArrayTarget
from sliceflow.flow.schedules import Stage
from sliceflow.metrics import sliced_wasserstein
from sliceflow.reproduce._figures import Figure

FAR, NEAR, WIDTH = 1.0, 0.75, 0.25
ETA, DIRECTIONS = 0.2, 64
SHOWN = [0, 3, 8, 15, 30, 200]
Row = tuple[str, list[Tensor], Tensor]


def illustrations(out: Path, shrink: int) -> Iterator[Figure]:
    """Draw the figure; yield the distance of CSWF to the ideal conditional flows, as ξ grows."""
    out.mkdir(parents=True, exist_ok=True)
    _draw(out / "illustrations.png", 2000 // min(shrink, 4))
    data, start = target_and_start(1, 5000 // shrink)
    ideal = ideal_map(start)
    for xi in (1, 2, 5, 10):
        (end,) = trajectory(Columns(1, float(xi)), start, data, [100])
        about = f"of CSWF to the ideal flows, ξ = {xi}"
        rms, sliced = rms_distance(end, ideal), sliced_wasserstein(end.T, ideal.T)
        yield Figure(f"illustrations.rms.xi{xi}", rms, "", f"RMS distance of particles {about}")
        yield Figure(f"illustrations.sliced.xi{xi}", sliced, "", f"sliced distance {about}")


def target_and_start(seed: int, n: int) -> tuple[Tensor, Tensor]:
    """Return n points (x, y) of q and of p₀, each (2, n)."""
    rng = np.random.default_rng(seed)
    side = rng.choice([-1, 1], size=n)
    x, x_start, y = side * [[FAR], [-FAR], [NEAR]] + WIDTH * rng.normal(size=(3, n))
    q, p = (torch.from_numpy(np.stack([x, y])).float() for x in (x, x_start))
    return q, p


def trajectory(
    condition: Condition, start: Tensor, data: Tensor, steps: Sequence[int]
) -> list[Tensor]:
    """Return the particles after each number of steps, starting with ``start``."""
    d = 2 - condition.l
    engine = Exact(DIRECTIONS, ETA)
    spec = Spec((d,), (Stage(max(steps)),), condition, engine)
    flow = Flow(spec, [ArrayTarget(data)])
    state, seen = flow.start(2), {0: start.clone()}
    state.shards = [start.clone()]

    def keep(state: State) -> None:
        seen[state.step or max(steps)] = state.particles.clone()

    flow.run(state, [keep])
    return [seen[step] for step in steps]


def ideal_map(start: Tensor) -> Tensor:
    """Return where the ideal flow moves each x given y: F⁻¹ of q(x | y) after F of p₀(x | y)."""
    x, y = start.double()
    weight = expit(2 * NEAR * y / WIDTH**2)  # of the component at +FAR in q(x | y)

    def cdf(x: Tensor, weight: Tensor) -> Tensor:
        total: Tensor = weight * ndtr((x - FAR) / WIDTH) + (1 - weight) * ndtr((x + FAR) / WIDTH)
        return total

    ranks = cdf(x, 1 - weight)
    low, high = torch.full_like(x, -10), torch.full_like(x, 10)
    for _ in range(60):  # bisection: F has no inverse in closed form
        middle = (low + high) / 2
        below = cdf(middle, weight) < ranks
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return torch.stack([middle, y]).float()


def _ideal_trajectory(start: Tensor, steps: Sequence[int]) -> list[Tensor]:
    """Return the ideal flows. In one dimension, particles move straight to their targets.

    The rate is that of the joint flow for ξ → ∞, where x is on average half of a direction.
    """
    end = ideal_map(start)
    return [end + (1 - ETA / 2) ** step * (start - end) for step in steps]


def _rows(n: int) -> Iterator[Row]:
    """Yield the title, the trajectory and the target of each illustration."""
    data, start = target_and_start(0, n)
    apart = torch.tensor([[1.0], [10.0]])
    joint = Unconditional()
    yield "joint SWF", trajectory(joint, start, data, SHOWN), data
    yield "ideal conditional SWFs", _ideal_trajectory(start, SHOWN), data
    far = trajectory(joint, apart * start, apart * data, SHOWN)
    yield "joint SWF, stretched by 10 in y", far, apart * data
    yield "CSWF, ξ = 10", trajectory(Columns(1, 10.0), start, data, SHOWN), data
    yield "CSWF, ξ = 1", trajectory(Columns(1, 1.0), start, data, SHOWN), data


def _draw(path: Path, n: int) -> None:
    """Draw all illustrations, one in each row, with time from left to right."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("this figure needs Matplotlib: pip install matplotlib") from error
    figure, axes = plt.subplots(5, len(SHOWN), figsize=(13, 9), sharex=True, sharey="row")
    for line, (title, particles, data) in zip(axes, _rows(n), strict=True):
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


def rms_distance(particles: Tensor, others: Tensor) -> float:
    """Return the root mean square distance of particles (2, n) to their counterparts."""
    return float((particles - others).square().sum(dim=0).mean().sqrt())
