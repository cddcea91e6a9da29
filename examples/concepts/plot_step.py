"""
The step
========

A step projects particles on many directions, and moves them along each by a map of one variable.
A flow is many such steps.
"""

# %%
# The data are a ring, and particles start as noise. The pictures show four moments of the flow.
# Each step draws two new orthonormal directions.

import matplotlib.pyplot as plt
import numpy as np

from sliceflow import SlicedFlow, State

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 2000)
ring = np.stack([np.cos(angle), np.sin(angle)], 1) * rng.normal(3, 0.2, (2000, 1))

plan = SlicedFlow(n_particles=2000, schedule=30, random_state=0).plan(ring)
state = plan.flow.start(plan.n_particles)
moments = {0: plan.samples(state)[0]}


def keep(state: State) -> None:
    """Keep the particles at some steps."""
    done = plan.flow.steps_done(state)
    if done in (1, 5, 30):
        moments[done] = plan.samples(state)[0]


plan.flow.run(state, [keep])
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), sharex=True, sharey=True)
for axis, (done, x) in zip(axes, moments.items(), strict=True):
    axis.scatter(*ring.T, s=1, color="0.85")
    axis.scatter(*x.T, s=1, color="tab:red")
    axis.set(title=f"{done} steps", aspect="equal")
figure.tight_layout()
plt.show()
