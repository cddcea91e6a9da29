"""
Posteriors from simulations
===========================

Which parameters of a simulator explain what was observed?
"""

# %%
# A ball is thrown at an unknown speed and angle, and we measure how far it flies. A simulator goes
# from parameters θ to an observation x. We want the other way: p(θ | x). The likelihood is not
# needed, only pairs of parameters from the prior and what the simulator makes of them.

import matplotlib.pyplot as plt
import numpy as np

from sliceflow import SlicedFlow
from sliceflow.metrics import calibration_ranks, interval_coverage

rng = np.random.default_rng(0)


def draw_prior(n: int) -> np.ndarray:
    """Return speeds in metres per second and angles in degrees, (n, 2)."""
    return rng.uniform((10, 5), (30, 85), size=(n, 2))


def simulate(theta: np.ndarray) -> np.ndarray:
    """Return the distance in metres, measured to about 2 m."""
    speed, angle = theta[:, 0], np.deg2rad(theta[:, 1])
    return speed**2 * np.sin(2 * angle) / 9.81 + rng.normal(0, 2, size=len(theta))


theta = draw_prior(3000)
distance = simulate(theta)

# %%
# ``fit`` takes the parameters first, since they are what is drawn, then what is given. Samples
# given one distance take the model a second or two, and so do those given any other.

model = SlicedFlow(random_state=0).fit(theta, distance)
posterior = {metres: model.sample(2000, y=metres, random_state=0) for metres in (20, 40, 60)}

# %%
# In this case the posterior is easy to get in another way: draw millions of parameters, and keep
# those whose simulated distance is within half a metre of what was observed. These are the grey
# dots. Any distance can be reached by a low or by a high throw.

many = draw_prior(2_000_000)
theirs = simulate(many)
figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for axis, (metres, samples) in zip(axes, posterior.items(), strict=True):
    kept = many[np.abs(theirs - metres) < 0.5][:2000]
    axis.plot(*kept.T, ".", color="0.7", markersize=3, label="kept simulations")
    axis.plot(*samples.T, ".", color="tab:blue", markersize=1.5, label="samples of the model")
    axis.set(title=f"{metres} m", xlabel="speed (m/s)")
axes[0].set_ylabel("angle (degrees)")
axes[2].legend(loc="upper left", fontsize=8, markerscale=3)

# %%
# Is it right for other observations too? For new simulations we know the true parameters. Their
# ranks among samples should be spread evenly, and 90 % of them should be within intervals that hold
# 90 % of the samples.

truth = draw_prior(300)
given = np.repeat(simulate(truth), 99)
samples = model.sample(len(given), y=given, random_state=1).reshape(300, 99, 2)
ranks = calibration_ranks(truth, samples)
covered = interval_coverage(truth, samples, [0.5, 0.9])
figure, axes = plt.subplots(1, 2, figsize=(7, 2.5), layout="constrained")
for axis, name, column, shares in zip(axes, ("speed", "angle"), ranks.T, covered.T, strict=True):
    axis.hist(column, np.linspace(0, 100, 11), color="tab:blue", rwidth=0.9)
    axis.axhline(30, color="0.5", linestyle="--")
    axis.set(title=f"{name}: {shares[0]:.0%} and {shares[1]:.0%} covered", xlabel="rank")

# %%
# When to use something else: `sbi <https://sbi-dev.github.io/sbi>`_ if you need the density of the
# posterior and not only samples, if x is an image or a long series that a network should summarise,
# or if you can simulate again, near what was observed. A flow given numbers takes about
# half a minute. Its maps are shared by all observations: very thin or strongly curved posteriors
# come out blurred.
