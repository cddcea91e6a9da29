"""Pictures and plots as HTML, which loads no other file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup
from PIL import Image

from sliceflow.notebook._pictures import as_png, embedded

WIDTH, HEIGHT = 560, 160
"""Size of a plot in pixels."""

BARS = 300, 100
"""Size of small plots in pixels."""


def picture(source: Path | Image.Image, about: str) -> Markup:
    """Return a picture as HTML that contains its bytes."""
    if isinstance(source, Path):
        return embedded(source.read_bytes(), about, source.suffix[1:])
    return embedded(as_png(source), about)


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


def paired_bars(shares: np.ndarray, labels: Sequence[str], about: str) -> Markup:
    """Return bars of data and of samples, (2, bars): labelled each, or at both ends."""
    (wide, high), k = BARS, shares.shape[1]
    width, top = wide / k, max(float(shares.max()), 1e-9)
    bar = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
    drawn = [
        bar.format(kind, (i + place) * width, high * (1 - s / top), 0.38 * width, high * s / top)
        for kind, place, row in zip(("data", "samples"), (0.1, 0.52), shares, strict=True)
        for i, s in enumerate(row)
    ]
    at_ends = len(labels) != k
    places = [0, wide] if at_ends else [(i + 0.5) * width for i in range(k)]
    longest = max(3, int(width / 9))  # characters
    cut = [
        label if at_ends or len(label) <= longest else f"{label[: longest - 1]}…"
        for label in labels
    ]
    anchors = ["start", "end"] if at_ends else ["middle"] * k
    text = Markup('<text x="{:.1f}" y="{}" text-anchor="{}"><title>{}</title>{}</text>')
    written = [
        text.format(x, high + 16, anchor, label, short)
        for x, anchor, label, short in zip(places, anchors, labels, cut, strict=True)
    ]
    return _labelled(Markup().join([*drawn, *written]), about, high + 24, wide)


def heatmap(table: np.ndarray, names: Sequence[str], about: str) -> Markup:
    """Return a table of numbers from 0 to 1, (d, d), as squares, with the names of its rows."""
    d, margin = len(names), 0.3 * WIDTH
    side = (WIDTH - margin) / d
    cell = Markup(
        '<rect class="cell" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" '
        'fill-opacity="{:.2f}"><title>{}, {}: {:.2f}</title></rect>'
    )
    drawn = [
        cell.format(margin + j * side, i * side, side, side, table[i, j], a, b, table[i, j])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]
    size = min(14.0, 0.9 * side)
    text = Markup(
        '<text x="{:.1f}" y="{:.1f}" text-anchor="end" style="font-size:{:.1f}px">{}</text>'
    )
    written = [
        text.format(margin - 6, (i + 0.7) * side, size, name[:20]) for i, name in enumerate(names)
    ]
    return _labelled(Markup().join([*drawn, *written]), about, WIDTH - margin)


def scatter(points: np.ndarray, kind: str, names: tuple[str, str], about: str) -> Markup:
    """Return points, (n, 2) between 0 and 1, of data or of samples, with the names of both axes."""
    side = WIDTH / 2
    dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="1.6"/>')
    drawn = [dot.format(kind, side * x, side * (1 - y)) for x, y in points]
    text = Markup('<text x="{}" y="{}" text-anchor="end">{}</text><text x="4" y="14">{}</text>')
    drawn.append(text.format(side, side + 16, names[0], names[1]))
    return _labelled(Markup().join(drawn), about, side + 24, side)


def _labelled(drawn: Markup, about: str, height: float, width: float = WIDTH) -> Markup:
    """Return a drawing with a caption."""
    return Markup(
        '<figure><svg class="labelled" viewBox="-4 -4 {:.0f} {:.0f}" role="img" aria-label="{}">'
        "{}</svg><figcaption>{}</figcaption></figure>"
    ).format(width + 8, height + 8, about, drawn, about)
