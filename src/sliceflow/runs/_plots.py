"""Pictures and plots as HTML, which loads no other file."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup
from PIL import Image

WIDTH, HEIGHT = 560, 160
"""Size of a plot in pixels."""


def picture(source: Path | Image.Image, about: str) -> Markup:
    """Return a picture as HTML that contains its bytes."""
    if isinstance(source, Path):
        data, kind = source.read_bytes(), source.suffix[1:]
    else:
        file = io.BytesIO()
        source.save(file, "PNG")
        data, kind = file.getvalue(), "png"
    address = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return Markup('<img src="{}" alt="{}" title="{}">').format(address, about, about)


def plot(values: Sequence[float], about: str, floor: float | None = None) -> Markup:
    """Return a line plot of values, from 0 to the largest, with a dashed line at the floor."""
    top = max(*values, floor or 0, 1e-9)
    across = [WIDTH * i / max(1, len(values) - 1) for i in range(len(values))]
    heights = [HEIGHT * (1 - value / top) for value in values]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))
    line = Markup('<polyline points="{}"/>').format(points)
    return _figure(line, top, floor, about)


def bars(counts: Sequence[int], about: str) -> Markup:
    """Return a bar plot of counts, with a dashed line at their mean."""
    top, width = max(*counts, 1), WIDTH / len(counts)
    bar = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
    heights = [HEIGHT * count / top for count in counts]
    drawn = [bar.format(i * width + 1, HEIGHT - h, width - 2, h) for i, h in enumerate(heights)]
    return _figure(Markup().join(drawn), top, sum(counts) / len(counts), about)


def _figure(drawn: Markup, top: float, dashed: float | None, about: str) -> Markup:
    """Return a plot with its largest value, a caption and, at some value, a dashed line."""
    if dashed is not None:
        y = HEIGHT * (1 - dashed / top)
        line = Markup('<line class="floor" x1="0" x2="{}" y1="{}" y2="{}"/>')
        drawn += line.format(WIDTH, y, y)
    return Markup(
        '<figure><svg viewBox="-4 -4 {} {}" role="img" aria-label="{}">'
        '<text y="12">{:.3g}</text>{}</svg><figcaption>{}</figcaption></figure>'
    ).format(WIDTH + 8, HEIGHT + 8, about, top, drawn, about)
