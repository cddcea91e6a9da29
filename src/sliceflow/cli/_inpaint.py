"""`sliceflow inpaint`: fill in the missing part of images."""

from pathlib import Path

from sliceflow.cli._options import Inpaint
from sliceflow.cli._samples import check_picture, inpaint, load_flow, output_path, save_inpainted
from sliceflow.core._terminal import plural, print_safely
from sliceflow.core._validation import check_integer
from sliceflow.data import load


def run(options: Inpaint) -> None:
    """Fill in images."""
    model = load_flow(options.model)
    out = output_path(options.out, model)
    max_images = check_integer("max_images", options.max_images, 1)
    size = (model.shape[-2], model.shape[-1]) if Path(options.images).is_dir() else None
    images = load(options.images, "test", options.data_dir, size)[:max_images].pixels
    check_picture(out, model, "n", options.n, len(images))
    samples = inpaint(model, images, options.n, options.random_state, options.device)
    save_inpainted(out, model, images, samples)
    print_safely(f"filled in {plural(len(images), 'image')}, saved in {out}")
