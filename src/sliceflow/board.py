"""A run in TensorBoard, for those who have it: the extra `tensorboard`."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


class Board:
    """Shows the metrics and pictures of a run while it goes on."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError("there is no TensorBoard: pip install tensorboard") from error
        self._writer = SummaryWriter(str(folder))

    def show(self, line: dict[str, Any], picture: Path) -> None:
        """Show a line of metrics, and the picture of that moment, if there is one."""
        write: Any = self._writer
        for name in ("distance", "floor", "seconds"):
            write.add_scalar(name, line[name], line["step"])
        if picture.exists():
            with Image.open(picture) as image:
                pixels = np.asarray(image.convert("RGB"))
            write.add_image("particles", pixels, line["step"], dataformats="HWC")
        write.flush()
