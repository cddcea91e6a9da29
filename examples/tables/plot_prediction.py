"""
Predict a distribution, not a number
====================================

How long will it take, and how sure is that?
"""

# %%
# A regression predicts one number. Often the spread matters more: is it even or lopsided, does it
# grow, are there two cases? Here are the minutes of 3,000 made-up bus rides, by the hour and by how
# far they go. In the rush hours rides take longer, and some get stuck.

import matplotlib.pyplot as plt
import numpy as np

from sliceflow import SlicedFlow
from sliceflow.metrics import crps, interval_coverage

rng = np.random.default_rng(0)


def draw_rides(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return hours and kilometres, (n, 2), and the minutes of these rides, (n, 1)."""
    hour, kilometres = rng.uniform(6, 22, size=n), rng.uniform(1, 12, size=n)
    rush = np.exp(-((hour - 8) ** 2)) + np.exp(-((hour - 17) ** 2) / 2)
    pace = 2 + rush + rng.gamma(2, 0.15, size=n) * (1 + 2 * rush)
    stuck = rng.random(n) < 0.4 * rush
    minutes = kilometres * pace + stuck * rng.normal(20, 3, size=n)
    return np.stack([hour, kilometres], axis=1), minutes[:, None]


given, minutes = draw_rides(3000)
model = SlicedFlow(random_state=0).fit(minutes, given)

# %%
# Samples for one ride at three times of the day, beside true rides of this kind. In the rush
# hours there are two cases, which no single number shows.

figure, axes = plt.subplots(1, 3, figsize=(9, 2.5), sharey=True, layout="constrained")
bins = np.linspace(0, 70, 36)
for axis, hour in zip(axes, (8, 12, 17), strict=True):
    samples = model.sample(4000, y=(hour, 8), random_state=0)
    every, took = draw_rides(400_000)
    alike = (np.abs(every[:, 0] - hour) < 0.2) & (np.abs(every[:, 1] - 8) < 0.4)
    axis.hist(took[alike, 0], bins, density=True, color="0.8", label="true rides")
    axis.hist(samples[:, 0], bins, density=True, histtype="step", color="tab:blue", label="samples")
    axis.set(title=f"8 km at {hour}:00", xlabel="minutes")
axes[0].legend(fontsize=8)

# %%
# On new rides: the CRPS, which is the mean absolute error of a prediction that is a distribution,
# beside that of the best single number; and how many rides are within their 90 % interval.

new, took = draw_rides(600)
samples = model.sample(600 * 49, y=np.repeat(new, 49, axis=0), random_state=1)
samples = samples.reshape(600, 49, 1)
error = np.abs(np.median(samples, axis=1) - took).mean()
covered = interval_coverage(took, samples, [0.9])
print(f"CRPS {crps(took, samples)[0]:.2f} min; absolute error of the median {error:.2f} min")
print(f"{covered[0, 0]:.0%} of new rides are within their 90 % interval")

# %%
# Fewer than 90 % would mean that intervals are too narrow. With 600 rides, 2 % more or fewer are
# chance.

# %%
# When to use something else: if one number is all you need, use a gradient-boosted regression,
# which is faster. If you have many rows and time, compare with `treeffuser
# <https://github.com/blei-lab/treeffuser>`_, a diffusion that boosted trees predict.
