"""`sliceflow inpaint`: fill in the rest of images."""

from sliceflow.cli.files import filled, opened, save_filled
from sliceflow.cli.options import Inpaint
from sliceflow.data import load


def run(options: Inpaint) -> None:
    """Fill in images."""
    model = opened(options.model)
    size = (model.shape[-2], model.shape[-1])
    images = load(options.images, "test", options.data_dir, size)[: options.most].pixels
    samples = filled(model, images, options.n, options.seed)
    save_filled(options.out, model, images, samples)
    print(f"{len(images)} images are filled in: {options.out}")
