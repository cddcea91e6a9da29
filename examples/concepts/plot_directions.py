"""
The directions
==============

Flows of images differ in the directions along which they move particles.
"""

# %%
# Along a random direction of all pixels, most images look like noise. A direction of a patch at a
# coarse level, upsampled to the size of the image, sees a part of a shape (section 5 of the paper).
# The fast engine cuts a level into patches that do not overlap and gives each an orthonormal basis.
# The directions of a step are then orthogonal, and a move along one does not affect the others.

import matplotlib.pyplot as plt
import torch

from sliceflow import Exact, Stage, Unconditional
from sliceflow.core._random import Draw, Random

like = torch.zeros(784, 1)
engine, shape = Exact(n_directions=6), (1, 28, 28)
stages = {
    "all pixels": Stage(1),
    "7×7 level": Stage(1, resolution=7),
    "14×14 level, patches of 5": Stage(1, resolution=14, patch=5),
    "28×28 level, patches of 7": Stage(1, resolution=28, patch=7),
}
figure, axes = plt.subplots(len(stages), 6, figsize=(8, 5.6))
for row, (name, stage) in zip(axes, stages.items(), strict=True):
    directions = engine.directions(stage, shape, Unconditional(), None)
    A = directions.draw(Random(0, Draw.DIRECTIONS), like)
    level = engine.level(stage, shape, like)
    images = level.leave(A.lift(torch.eye(len(row)))).T.reshape(-1, 28, 28)
    for axis, image in zip(row, images, strict=True):
        axis.imshow(image, cmap="gray")
        axis.axis("off")
    row[0].set_title(name, loc="left", fontsize=9)
figure.tight_layout()
plt.show()
