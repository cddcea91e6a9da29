"""
The condition: what is frozen
=============================

A flow of pairs (x, y) whose y never moves becomes a flow of x given y.
"""

# %%
# Here y is the class, and x two clouds that touch. Each direction sees y ξ times as large as it is,
# so that particles are moved among those of their own y. Without it (ξ = 0), y is ignored.

import matplotlib.pyplot as plt
import numpy as np

from sliceflow import SlicedFlow

rng = np.random.default_rng(0)
y = rng.integers(2, size=2000)
x = rng.normal(size=(2000, 2)) + 2 * np.stack([y, -y], 1)

figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), sharex=True, sharey=True)
for axis, xi in zip(axes, (0, 0.3, 1, 10), strict=True):
    model = SlicedFlow(amplifier=xi, schedule=60, random_state=0).fit(x, y)
    for label, colour in ((0, "tab:blue"), (1, "tab:orange")):
        axis.scatter(*model.sample(500, y=label).T, s=2, color=colour)
    axis.set(title=f"ξ = {xi}", aspect="equal")
figure.tight_layout()
plt.show()
