"""The paper's engine and schedule compared to ours, on MNIST, in equal time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sliceflow.data import load
from sliceflow.flow._engines import Exact
from sliceflow.flow.schedules import paper
from sliceflow.reproduce._figures import Figure
from sliceflow.reproduce._fits import fit, judged, save
from sliceflow.viz import grid

SETTINGS: dict[str, Any] = {"n_particles": 5000, "batch_size": 10_000}


def engines(out: Path, shrink: int) -> Iterator[Figure]:
    """Yield minutes and FID of both engines, each with 5,000 particles."""
    images = load("mnist")
    images, settings = images[: len(images) // shrink**2], dict(SETTINGS)
    settings["n_particles"] //= shrink**2
    exact: dict[str, Any] = {
        "engine": Exact(n_directions=1000 // shrink),
        "schedule": paper(28, 14 // shrink),
    }
    fast = {"schedule": "best" if shrink == 1 else "quick"}
    for name, chosen in (("exact", exact), ("fast", fast)):
        model, cost = fit(images, **settings, **chosen)
        about = f"the fit of the {name} engine, MNIST; {cost.gib:.1f} GiB"
        yield Figure(f"minutes.paper.{name}", cost.minutes, "min", about)
        save(grid(model.particles_[:160]), out, f"paper-{name}")
        about = f"{len(model.particles_):,} samples of the {name} engine, MNIST"
        yield from judged(model.particles_, images, f"paper.{name}", about)
