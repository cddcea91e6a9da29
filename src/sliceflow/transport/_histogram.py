"""The one-dimensional map T = F_q⁻¹ ∘ F_p from counts, with a table for O(1) look-up.

Rows are directions, each with its own map; values lie along the last dimension. Three passes:

1. Find the *extremes* of the values, which merge by minimum and maximum.
2. Count a sample of the values on equal *buckets* between the extremes, to see where values are.
3. Count all values on *cells*. Each bucket is cut into equal cells; where there are more values,
   there are more cells.

Counts are integers and merge by addition, so any number of processes gives the same bits. The
values of p in a cell have consecutive ranks. The counts of q tell where T takes the first and the
last of these ranks, and T is linear in between. As cells shrink, T becomes the exact map of
`transport._sorted`.

The functions here run on any device. On the CPU, `transport._kernels` does the same, compiled.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.distributed import ReduceOp

from sliceflow.core._distributed import Merge
from sliceflow.core._threads import parallel, thread_slices
from sliceflow.transport._kernels import (
    average_parts,
    count_buckets_of_rows,
    count_cells_of_rows,
    count_rows,
    displace_rows,
    extremes_of_rows,
    is_compiled,
    knots_of_rows,
    make_tables,
    move_rows,
)
from sliceflow.transport._knots import KNOTS, KnotMap, part_ends

CELLS = 512
"""Default number of cells per direction, B."""

CELLS_PER_BUCKET = 8
"""Average number of cells in a bucket."""

MAX_CELLS = 2**14
"""Maximum number of cells: a position, the cell and 16 bits inside it, must fit in 31 bits."""

STRIDE = 31
"""Every 31st value of a shard is counted on buckets. 31 is prime, so that alternating classes are
all sampled."""

NUDGE = 1e-6
"""Added to a rank of p, so that rounding cannot turn rank k of q into rank k − 1."""

NOISE = 0.7
"""The noise of a displacement, as a share of that between two independent samples. It was chosen by
the posterior of a Gaussian mixture; others change little."""


@dataclass(frozen=True, eq=False)
class Values:
    """Values of H rows, (H, N): one part of columns, of these widths, for each shard of a process.

    If other processes have more values of these rows, ``merge`` combines counts with theirs.
    """

    z: Tensor
    widths: list[int]
    merge: Merge | None = None

    @classmethod
    def of(cls, *parts: Tensor, merge: Merge | None = None) -> Self:
        """Join parts with the same rows, one after the other."""
        z = torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]
        return cls(z, [part.shape[1] for part in parts], merge)

    def __getitem__(self, rows: slice) -> Self:
        return replace(self, z=self.z[rows])

    def parts(self) -> list[Tensor]:
        """Return the parts."""
        return list(torch.split(self.z, self.widths, dim=1))


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells for each of H rows, in buckets of equal width between the extremes.

    Parameters
    ----------
    low, high
        The extremes, with shape (H,).
    slots
        For each of G buckets, its first cell in the lower 16 bits, and its number of cells in the
        upper 16 bits: (H, G), int32.
    """

    low: Tensor
    high: Tensor
    slots: Tensor

    @property
    def first(self) -> Tensor:
        """The first cell of each bucket, with shape (H, G)."""
        return self.slots & 0xFFFF

    @property
    def size(self) -> Tensor:
        """The number of cells of each bucket, with shape (H, G)."""
        return self.slots >> 16

    def __len__(self) -> int:
        """Return the number of cells B."""
        last = int(self.slots[0, -1])
        return (last & 0xFFFF) + (last >> 16)

    def positions(self, z: Tensor) -> Tensor:
        """Return the position of values (H, N): the cell, then 16 bits for where in the cell."""
        ticks = z.new_tensor(self.slots.shape[1] << 16)  # 65536 per bucket
        last = torch.nextafter(ticks, z.new_tensor(0))
        low, scale = self.low[:, None], ticks / (self.high - self.low).clamp(min=1e-30)[:, None]
        tick = ((z - low) * scale).nan_to_num(0).clamp(z.new_tensor(0), last).to(torch.int32)
        bucket = (tick >> 16).long()
        return (self.first.gather(1, bucket) << 16) + (tick & 0xFFFF) * self.size.gather(1, bucket)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the grid as the compiled kernels take it."""
        return self.low.numpy(), self.high.numpy(), self.slots.numpy()

    def edges(self) -> Tensor:
        """Return the left edge of each cell and the right edge of the last: (H, B + 1), float64."""
        cells = torch.arange(len(self) + 1, device=self.low.device, dtype=torch.int32)
        cells = cells.expand(len(self.low), -1).contiguous()
        g = torch.searchsorted(self.first, cells, right=True).sub_(1)
        low, high = self.low.double()[:, None], self.high.double()[:, None]
        width = (high - low) / self.slots.shape[1]
        index = cells - self.first.gather(1, g)  # of the cell in its bucket g
        edges = low + g * width + index * (width / self.size.gather(1, g))
        edges[:, -1:] = low + self.slots.shape[1] * width
        return edges


def extremes(z: Tensor) -> Tensor:
    """Return the smallest value of each row, and the negative of its largest: (2, H)."""
    if is_compiled(z):
        low, high = z.new_empty(2, len(z))
        extremes_of_rows(z.numpy(), low.numpy(), high.numpy())
    else:
        low, high = (bound + 0.0 for bound in z.aminmax(dim=1))  # 0.0, not −0.0
    return torch.stack([low, -high])


def count_buckets(values: Values, low: Tensor, high: Tensor, b: int) -> Tensor:
    """Count every `STRIDE`-th value of each part on equal buckets: (H, G)."""
    z = values.z
    if is_compiled(z):
        counts = torch.zeros(len(z), b // CELLS_PER_BUCKET, dtype=torch.int32)
        widths, bounds = np.array(values.widths), (low.numpy(), high.numpy())
        count_buckets_of_rows(z.numpy(), widths, STRIDE, *bounds, counts.numpy())
        return counts
    one_cell_each = torch.arange(b // CELLS_PER_BUCKET, device=z.device) + (1 << 16)
    buckets = Grid(low, high, one_cell_each.to(torch.int32).repeat(len(z), 1))
    sample = torch.cat([part[:, ::STRIDE] for part in values.parts()], dim=1)
    return count_cells(sample, buckets)


def share_cells(counts: Tensor, b: int) -> Tensor:
    """Share b cells among buckets, half evenly, half by ``counts`` (H, G): `Grid.slots`."""
    buckets = counts.shape[1]
    even = b // (2 * buckets)
    seen = counts.cumsum(dim=1)
    by_count = (seen * ((b - even * buckets) / seen[:, -1:].double())).to(torch.int32)
    end = even * torch.arange(1, buckets + 1, dtype=torch.int32, device=counts.device) + by_count
    end[:, -1] = b
    first = torch.nn.functional.pad(end[:, :-1], (1, 0))
    return first | (end - first) << 16


def count_cells(z: Tensor, grid: Grid) -> Tensor:
    """Count the values in each cell, with shape (H, B)."""
    zeros = torch.zeros(len(z), len(grid), dtype=torch.int32, device=z.device)
    if is_compiled(z):
        count_cells_of_rows(z.numpy(), *grid.arrays(), zeros.numpy())
        return zeros
    cells = (grid.positions(z) >> 16).long()
    ones = torch.ones((), dtype=torch.int32, device=z.device).expand_as(cells)
    return zeros.scatter_add_(1, cells, ones)


def quantile(rank: Tensor, counts: Tensor, grid: Grid) -> Tensor:
    """Return the value of each rank (H, L), estimated from counts (H, B) on a grid: F⁻¹.

    Ranks start at 0 and may be fractions. The n values of a cell are taken to be spread evenly, the
    first one half a gap from the left edge. Ranks beyond the last value stop at the right edge.
    """
    seen = counts.cumsum(dim=1).double()
    i = torch.searchsorted(seen, rank, right=True).clamp_(max=counts.shape[1] - 1)
    n, edge = counts.gather(1, i), grid.edges()
    low, high = edge.gather(1, i), edge.gather(1, i + 1)
    inside = rank - (seen.gather(1, i) - n) + 0.5
    return (low + inside * ((high - low) / n)).minimum(high).to(grid.low.dtype)


def compose(p: "Counted", q: "Counted") -> tuple[Tensor, Tensor]:
    """Return T at the left edge of each cell of p, and how much T rises in the cell, each (H, B).

    F_p: a cell with n of the M values of p holds ranks R to R + n − 1. F_q⁻¹: rank r of p goes to
    the value of rank r N/M of q. This gives T at the first and the last rank of each occupied cell;
    `_bridge` fills in the empty ones.
    """
    if is_compiled(p.grid.low):
        start, rise = p.grid.low.new_empty(2, *p.counts.shape)
        ratio = int(q.counts[0].sum()) / int(p.counts[0].sum())
        make_tables(p.arrays(), q.arrays(), start.numpy(), rise.numpy(), ratio, NUDGE)
        return start, rise
    seen = p.counts.cumsum(dim=1)
    ratios = q.counts.sum(dim=1, keepdim=True).double() / seen[:, -1:]
    first, last = (seen - p.counts).double(), (seen - 1).double()
    start, end = (quantile((rank + NUDGE) * ratios, q.counts, q.grid) for rank in (first, last))
    start, end = _bridge(p.counts > 0, p.grid.edges(), start, end)
    return start, end - start


def _bridge(occupied: Tensor, edge: Tensor, start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Return T at the start and at the end of each cell, with a line over each run of empty cells.

    No value of p is in an empty cell, but T is also applied to other particles, and these can be.
    Between two neighbouring values the exact map is a line, and so is this one: from the end of the
    last occupied cell to the start of the next.
    """
    # The nearest occupied cells of each cell. Cell 0 holds the smallest value, so there is always
    # one before. If there is none after, T is constant: there is nothing to rise to.
    number = torch.arange(occupied.shape[1], device=occupied.device).expand_as(occupied)
    before = torch.where(occupied, number, 0).cummax(dim=1).values
    after = torch.where(occupied, number, len(number.T)).flip(1).cummin(dim=1).values.flip(1)
    has_none_after = after == len(number.T)
    # The line rises by ``height`` from ``low`` between the edges ``left`` and ``right``.
    low = end.gather(1, before).double()
    height = start.gather(1, after.masked_fill(has_none_after, 0)).double() - low
    left, right = edge.gather(1, before + 1), edge.gather(1, after)

    def line(x: Tensor) -> Tensor:
        fraction = torch.where(has_none_after, 0.0, (x - left) / (right - left))
        return (low + fraction * height).to(start.dtype)

    return (
        torch.where(occupied, start, line(edge[:, :-1])),
        torch.where(occupied, end, line(edge[:, 1:])),
    )


@dataclass(frozen=True, eq=False)
class Counted:
    """Values of H rows as counts (H, B), int32, on a grid with more cells where values are."""

    grid: Grid
    counts: Tensor

    @classmethod
    def of(cls, values: Values, b: int) -> Self:
        """Count values on b cells, if no other process has more of them."""
        z = values.z
        if not is_compiled(z):
            (counted,) = cls.merged([values], b, _keep)
            return counted
        counted = cls.empty(z, b)
        count_rows(z.numpy(), np.array(values.widths), STRIDE, *counted.arrays())
        return counted

    @classmethod
    def empty(cls, z: Tensor, b: int) -> Self:
        """Return the counts of values z on b cells, which a kernel has to write yet."""
        slots, counts = (
            torch.empty(len(z), n, dtype=torch.int32) for n in (b // CELLS_PER_BUCKET, b)
        )
        low, high = z.new_empty(2, len(z))
        return cls(Grid(low, high, slots), counts)

    @classmethod
    def merged(cls, sides: list[Values], b: int, merge: Merge) -> list[Self]:
        """Count several sets of values, each of all processes together, on b cells each."""
        bounds = torch.stack([extremes(side.z) for side in sides])
        merge(bounds, ReduceOp.MIN)
        lows, highs = bounds[:, 0], -bounds[:, 1]
        zipped = zip(sides, lows, highs, strict=True)
        sampled = torch.stack([count_buckets(side, low, high, b) for side, low, high in zipped])
        merge(sampled, ReduceOp.SUM)
        bounded = zip(lows, highs, sampled, strict=True)
        grids = [Grid(low, high, share_cells(n, b)) for low, high, n in bounded]
        pairs = zip(sides, grids, strict=True)
        counts = torch.stack([count_cells(side.z, grid) for side, grid in pairs])
        merge(counts, ReduceOp.SUM)
        return [cls(grid, n) for grid, n in zip(grids, counts, strict=True)]

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays that the compiled kernels take: the grid's three, and the counts."""
        return *self.grid.arrays(), self.counts.numpy()

    def means(self, ends: Tensor) -> Tensor:
        """Return the mean of each part of the sorted values, (H, parts), in float64.

        ``ends`` are the fractions of the values, from 0 to 1, at which parts begin and end:
        (parts + 1,). The values in a cell are taken to be spread evenly, also where a part ends
        inside a cell.
        """
        if is_compiled(self.grid.low):
            means = torch.empty(len(self.counts), len(ends) - 1, dtype=torch.float64)
            average_parts(*self.arrays(), ends.numpy(), means.numpy())
            return means
        edge, n = self.grid.edges(), self.counts.double()
        width, seen = edge.diff(dim=1), n.cumsum(dim=1)
        total = (n * (edge[:, :-1] + width / 2)).cumsum(dim=1)
        # A part ends in cell i: subtract the values between there and the end of the cell.
        rank = seen[:, -1:] * ends.to(n.device)
        i = torch.searchsorted(seen, rank).clamp_(max=n.shape[1] - 1)
        surplus = seen.gather(1, i) - rank
        fraction = surplus / n.gather(1, i).clamp(min=1)
        middle = edge[:, 1:].gather(1, i) - fraction / 2 * width.gather(1, i)
        return (total.gather(1, i) - surplus * middle).diff(dim=1) / rank.diff(dim=1)


@dataclass(frozen=True, eq=False)
class HistogramMap:
    """T = F_q⁻¹ ∘ F_p for each row, linear in each cell of p.

    Parameters
    ----------
    p, q
        The counts that determine T.
    start, rise
        T at the left edge of each cell of p, and how much T rises in the cell, (H, B) each.
    """

    p: Counted
    q: Counted
    start: Tensor
    rise: Tensor

    @classmethod
    def between(cls, p: Tensor, q: Tensor, cells: int = CELLS) -> Self:
        """Return the map from the distribution of the values ``p`` to that of ``q``."""
        return cls.of(Values.of(p), Values.of(q), cells)

    @classmethod
    def of(cls, p: Values, q: Values, cells: int = CELLS) -> Self:
        """Return the map from values ``p`` to values ``q``, each of all processes together."""
        if p.merge is None:
            ps, qs = Counted.of(p, cells), Counted.of(q, cells)
        else:
            ps, qs = Counted.merged([p, q], cells, p.merge)
        return cls(ps, qs, *compose(ps, qs))

    @classmethod
    def moving_(cls, p: Values, q: Values, cells: int = CELLS) -> Self:
        """Return the map from values ``p`` to values ``q``, and replace p by T(p) − p."""
        if p.merge is not None or not is_compiled(p.z):
            T = cls.of(p, q, cells)
            T.displace_(p.z)
            return T
        ps, qs = Counted.empty(p.z, cells), Counted.empty(q.z, cells)
        start, rise = p.z.new_empty(2, *ps.counts.shape)
        values = (a for side in (p, q) for a in (side.z.numpy(), np.array(side.widths)))
        tables, ratio = (start.numpy(), rise.numpy()), q.z.shape[1] / p.z.shape[1]
        move_rows(*values, STRIDE, ps.arrays(), qs.arrays(), *tables, ratio, NUDGE)
        return cls(ps, qs, start, rise)

    def displace_(self, z: Tensor) -> None:
        """Replace values (H, L) by their displacements T(z) − z."""
        if is_compiled(z):
            grid, tables = self.p.grid.arrays(), (self.start.numpy(), self.rise.numpy())
            displace_rows(z.numpy(), *grid, *tables)
            return
        where = self.p.grid.positions(z)
        cell, inside = (where >> 16).long(), (where & 0xFFFF) * z.new_tensor(2**-16)
        z.copy_(self.start.gather(1, cell) + inside * self.rise.gather(1, cell) - z)

    def signal(self) -> Tensor:
        """Return the share of each row's displacement that is not noise, (H, 1).

        The mean of N values differs from that of M others by chance. The variance of this
        difference is not the signal's, so the displacement is shrunk by it (James & Stein 1961).
        Earlier steps moved the particles to the same values, which makes the difference smaller.
        """
        n, m = (int(side.counts[0].sum()) for side in (self.q, self.p))
        ends = part_ends(KNOTS, min(n, m))
        x, y = (side.means(ends) for side in (self.p, self.q))
        part = ends.diff().to(x.device)
        moved = (part * (y - x).square()).sum(dim=1, keepdim=True)
        variance = (part * (y - (part * y).sum(dim=1, keepdim=True)).square()).sum(1, keepdim=True)
        noise = NOISE * (1 / n + 1 / m) * variance
        return (1 - noise / moved.clamp(min=1e-30)).clamp(min=0).to(self.start.dtype)

    def by_knots(self, parts: int) -> KnotMap:
        """Return the map that takes the mean of each part of p to the mean of that part of q.

        If there are too few values for ``parts`` parts, there are fewer, and the last knot is
        repeated. The outermost lines extend to the extremes of p, but not beyond those of q.
        """
        ends = part_ends(parts, min(int(side.counts[0].sum()) for side in (self.p, self.q)))
        if is_compiled(self.start):
            x, move_by = self.start.new_empty(2, len(self.start), parts + 2)
            sides = self.p.arrays(), self.q.arrays()
            knots_of_rows(*sides, ends.numpy(), x.numpy(), move_by.numpy())
            return KnotMap(x, move_by)
        (x, low, high), (y, q_low, q_high) = (
            (side.means(ends), side.grid.low[:, None], side.grid.high[:, None])
            for side in (self.p, self.q)
        )
        slope = (y.diff(dim=1) / x.diff(dim=1)).nan_to_num(0, 0, 0)
        first = y[:, :1] + slope[:, :1] * (low - x[:, :1])
        last = y[:, -1:] + slope[:, -1:] * (high - x[:, -1:])
        copies = 1 + parts + 1 - len(ends)
        x = torch.cat([low, x, high.expand(-1, copies)], dim=1).cummax(dim=1).values
        y = torch.cat([first, y, last.expand(-1, copies)], dim=1)
        y = y.clamp(q_low, q_high).cummax(dim=1).values
        return KnotMap(x.to(self.start.dtype), (y - x).to(self.start.dtype))


@dataclass(frozen=True)
class HistogramTransport:
    """Maps from counts.

    Parameters
    ----------
    cells
        The number of cells on which values are counted.
    shrinks
        Whether displacements are shrunk by their share of noise.
    """

    cells: int = CELLS
    shrinks: bool = False

    def displace_(
        self, z: Tensor, p: Values, q: Values, knots: int | None = None
    ) -> KnotMap | None:
        """Replace values z by T(z) − z, with T = F_q⁻¹ ∘ F_p for each row; return its knots.

        Threads share the rows.
        """
        are_p = z is p.z

        def displace(rows: slice) -> KnotMap | None:
            if are_p:
                T = HistogramMap.moving_(p[rows], q[rows], self.cells)
            else:
                T = HistogramMap.of(p[rows], q[rows], self.cells)
                T.displace_(z[rows])
            recorded = None if knots is None else T.by_knots(knots)
            if self.shrinks:
                signal = T.signal()
                z[rows] *= signal
                recorded = recorded and recorded.times(signal)
            return recorded

        if p.merge is not None:  # messages have an order, so only one thread may send them
            return displace(slice(None))
        maps = parallel(displace, thread_slices(len(z)))
        return KnotMap.joined([T for T in maps if T is not None])


def _keep(values: Tensor, op: object) -> None:
    """Merge nothing: there are no other processes."""
