"""`sliceflow inpaint`: fill in the rest of images."""

from pathlib import Path

from sliceflow._terminal import counted, say
from sliceflow._validation import check_integer
from sliceflow.cli.files import check_picture, checked_out, filled, opened, save_filled
from sliceflow.cli.options import Inpaint
from sliceflow.data import load


def run(options: Inpaint) -> None:
    """Fill in images."""
    model = opened(options.model)
    out = checked_out(options.out, model)
    n_images = check_integer("max_images", options.max_images, 1)
    size = (model.shape[-2], model.shape[-1]) if Path(options.images).is_dir() else None
    images = load(options.images, "test", options.data_dir, size)[:n_images].pixels
    check_picture(out, model, "n", options.n, len(images))
    samples = filled(model, images, options.n, options.random_state)
    save_filled(out, model, images, samples)
    say(f"{counted(len(images), 'image')} filled in: {out}")
