"""The paper's engine and schedule beside ours, on MNIST, in equal time."""

from collections.abc import Iterator

from benchmarks._images import fit, judged, save
from benchmarks.ledger import Figure
from sliceflow import Exact, viz
from sliceflow.data import load
from sliceflow.schedules import paper

SETTINGS = {"n_particles": 5000, "batch_size": 10_000}


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield minutes and FID of both, each with 5,000 particles."""
    images = load("mnist")
    images, settings = images[: len(images) // shrink**2], dict(SETTINGS)
    settings["n_particles"] //= shrink**2
    exact = {"engine": Exact(n_directions=1000 // shrink), "schedule": paper(28, 14 // shrink)}
    fast = {"schedule": "best" if shrink == 1 else "quick"}
    for name, chosen in (("exact", exact), ("fast", fast)):
        model, cost = fit(images, **settings, **chosen)
        about = f"the fit of the {name} engine, MNIST; {cost.gib:.1f} GiB"
        yield Figure(f"minutes.paper.{name}", cost.minutes, "min", about)
        save(viz.grid(model.particles_[:160]), f"paper-{name}", shrink)
        about = f"5,000 samples of the {name} engine, MNIST"
        yield from judged(model.particles_, images, f"paper.{name}", about)
