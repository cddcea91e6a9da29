"""
The directions
==============

What differs between flows of images is which directions they look along.
"""

# %%
# A direction of all pixels sees noise in most images. A direction of a patch of a coarse level,
# brought up to the size of the image, sees a part of a shape: section 5 of the paper. The fast
# engine cuts a level into patches that do not overlap, with an orthonormal basis in each, so that
# the directions of a step do not disturb one another.

import matplotlib.pyplot as plt
import torch

from sliceflow._random import Draw, Random
from sliceflow.projections import Local, Sphere

shape, like = (1, 28, 28), torch.zeros(784, 1)
laws = {
    "all pixels": Sphere(784),
    "7×7 level": Local(shape, resolution=7, patch=7),
    "14×14 level, patches of 5": Local(shape, resolution=14, patch=5),
    "28×28 level, patches of 7": Local(shape, resolution=28, patch=7),
}
figure, axes = plt.subplots(len(laws), 6, figsize=(8, 5.6))
for row, (name, law) in zip(axes, laws.items(), strict=True):
    A = law.draw(Random(0, Draw.DIRECTIONS), len(row), like)
    images = A.lift(torch.eye(len(row))).T.reshape(-1, 28, 28)
    for axis, image in zip(row, images, strict=True):
        axis.imshow(image, cmap="gray")
        axis.axis("off")
    row[0].set_title(name, loc="left", fontsize=9)
figure.tight_layout()
plt.show()
