"""Runs in TensorBoard: `sliceflow fit --tensorboard`, with the extra `tensorboard`."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


class TensorBoardWriter:
    """Writes the metrics and pictures of a run for TensorBoard."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError("TensorBoard is not installed: pip install tensorboard") from error
        self._writer: Any = SummaryWriter(str(folder))

    def write(self, line: dict[str, Any], picture: Path) -> None:
        """Add a line of metrics, and the picture of the same step, if there is one."""
        for name in ("distance", "floor", "seconds"):
            self._writer.add_scalar(name, line[name], line["step"])
        if picture.exists():
            with Image.open(picture) as image:
                pixels = np.asarray(image.convert("RGB"))
            self._writer.add_image("particles", pixels, line["step"], dataformats="HWC")
        self._writer.flush()
