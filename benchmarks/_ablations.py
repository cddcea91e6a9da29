"""What the paper's ablations share: small flows of its own engine to MNIST."""

from functools import cache

from benchmarks._images import Cost, Judge, fit
from benchmarks.ledger import Figure
from sliceflow import Exact, SlicedFlow, Stage
from sliceflow.data import Images, load
from sliceflow.schedules import PAPER

STEPS, M, H = 300, 2000, 500


@cache
def judged_digits(shrink: int) -> tuple[Images, Judge]:
    """Return the training images that all flows go to, and are judged by."""
    data = load("mnist")[: 10_000 // shrink**2]
    return data, Judge(data)


def flow(
    shrink: int, schedule: tuple[Stage, ...], m: int = M, h: int = H
) -> tuple[SlicedFlow, Cost]:
    """Fit a small flow with M particles and H directions."""
    engine, (data, _) = Exact(n_directions=h // shrink), judged_digits(shrink)
    return fit(data, engine=engine, schedule=schedule, n_particles=m // shrink, batch_size=5000)


def figure(name: str, about: str, model: SlicedFlow, cost: Cost, shrink: int) -> Figure:
    """Return FID of the first 500 samples."""
    fid = judged_digits(shrink)[1].fid_of(model.particles_[: 500 // shrink])
    return Figure(f"ablation.{name}", fid, "", f"FID of 500 samples, {about}; {cost}")


def pyramidal(shrink: int) -> tuple[Stage, ...]:
    """Return the paper's levels, each with three of its patches."""
    stages = [(k, s) for k, patches in PAPER[28].items() for s in patches[-3:]]
    return tuple(Stage(max(1, STEPS // shrink // len(stages)), k, s) for k, s in stages)
