"""
The condition: coordinates that do not move
===========================================

If the y of all pairs (x, y) is fixed, a flow of the pairs is a flow of x given y.
"""

# %%
# Here y is the class, and x is a point of one of two overlapping clouds. Each direction multiplies
# y by the amplifier ξ, so that particles are compared mostly with data of their own class. If
# ξ = 0, y is ignored.

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
