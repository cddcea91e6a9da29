"""
The schedule: from coarse to fine
=================================

A flow makes images at a coarse level first, and each finer level adds detail.
"""

# %%
# The data are rings of random size and position. The schedule is like the preset ``quick``, with
# fewer steps. Each row is one particle, and time goes from left to right.

import matplotlib.pyplot as plt
import numpy as np

from sliceflow import SlicedFlow, State, schedules, viz

rng = np.random.default_rng(0)
x0, y0, radius = rng.uniform(7, 17, (3, 1500, 1, 1)) * np.array([1, 1, 0.35])[:, None, None, None]
across, down = np.meshgrid(np.arange(24), np.arange(24))
distance = np.hypot(across - x0, down - y0)
rings = (255 * np.exp(-np.square(distance - radius))).astype(np.uint8)[:, None]

schedule = schedules.pyramid((1, 24, 24), schedules.Preset(whole=30, coarse=15, fine=5))
plan = SlicedFlow(n_particles=1500, schedule=schedule, random_state=0).plan(rings)
state = plan.flow.start(plan.n_particles)
frames = [plan.samples(state)[0]]


def keep(state: State) -> None:
    """Keep the particles at the end of every fourth stage."""
    if state.step == 0 and (state.stage % 4 == 0 or state.stage == len(schedule)):
        frames.append(plan.samples(state)[0])


plan.flow.run(state, [keep])
figure, axis = plt.subplots(figsize=(10, 5))
axis.imshow(viz.draw(viz.evolution(frames, rows=5), zoom=3), cmap="gray")
axis.axis("off")
figure.tight_layout()
plt.show()
