"""
The map: one-dimensional optimal transport
==========================================

Along one direction, particles move to data values of the same rank: T = F_data⁻¹ ∘ F_particles.
"""

# %%
# The exact map sorts all values. The fast map counts them in cells, which takes one pass, and
# counts of several machines can be added. With only 32 cells, the two maps are nearly the same.

import matplotlib.pyplot as plt
import torch

from sliceflow.transport import HistogramMap, SortedMap

rng = torch.Generator().manual_seed(0)
particles = torch.randn(1, 5000, generator=rng)
data = torch.cat(
    [torch.randn(1, 3000, generator=rng) / 2 - 2, torch.rand(1, 2000, generator=rng) + 1], 1
)

z = torch.linspace(-3, 3, 400)[None]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5))
left.hist([particles[0], data[0]], bins=60, histtype="step", label=["particles", "data"])
left.legend()
for name, T in {
    "exact: sorted": SortedMap.between(particles, data),
    "fast: 32 cells": HistogramMap.between(particles, data, cells=32),
}.items():
    moved = z.clone()
    T.displace_(moved)
    right.plot(z[0], (z + moved)[0], label=name)
right.set(xlabel="z", ylabel="T(z)")
right.legend()
figure.tight_layout()
plt.show()
