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
    out, most = checked_out(options.out, model), check_integer("most", options.most, 1)
    size = (model.shape[-2], model.shape[-1]) if Path(options.images).is_dir() else None
    images = load(options.images, "test", options.data_dir, size)[:most].pixels
    check_picture(out, model, "n", options.n, len(images))
    samples = filled(model, images, options.n, options.seed)
    save_filled(out, model, images, samples)
    say(f"{counted(len(images), 'image')} filled in: {out}")
