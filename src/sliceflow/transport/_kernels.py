"""The CPU kernels of `transport._histogram` and `transport._knots`, compiled by Numba.

A kernel computes the same integers as the torch function it replaces and, from them, the same
floats in the same order, so both give the same bits. Tests hold them equal. Kernels release the
GIL, so that threads can work on different rows at the same time.
"""

import numpy as np
from numba import njit
from torch import Tensor, float32

COUNTER_PADDING = 16
"""Unused cells after each row of counters, so that rows are not a power of two apart.

A CPU delays a load if its lowest address bits are those of a store in progress.
"""

CHUNK_VALUES = 1024
"""Number of values located at a time: few enough for their positions to stay in the L1 cache."""

NUMBA_OPTIONS = {"nogil": True, "error_model": "numpy"}


def is_compiled(z: Tensor) -> bool:
    """Return whether the compiled kernels can process these values."""
    return z.is_cpu and z.dtype == float32 and z.is_contiguous()


def kernel(function):
    """Compile a function at its first call, and cache the result on disk for other processes.

    It is not cached if neither the package nor the user's home is writable.
    """
    try:
        return njit(function, cache=True, **NUMBA_OPTIONS)
    except RuntimeError:
        return njit(function, **NUMBA_OPTIONS)


@kernel
def _ordered(bits):
    """Map the bits of a float to an integer with the same order. The map is its own inverse."""
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@kernel
def extremes(z):
    """Return the smallest and the largest value. Compared as integers, which is vectorised.

    −0.0 becomes 0.0: processes might not agree on which of the two is smaller.
    """
    low, high = np.int32(0x7FFFFFFF), np.int32(-0x80000000)
    for i in range(len(z)):
        value = _ordered(np.float32(z[i]).view(np.int32))
        low, high = min(low, value), max(high, value)
    low, high = np.int32(_ordered(low)).view(np.float32), np.int32(_ordered(high)).view(np.float32)
    return low + np.float32(0), high + np.float32(0)


@kernel
def tick(value, low, scale, last):
    """Return the position of a value between the extremes in ticks, 65536 per bucket."""
    t = (value - low) * scale
    t = t if t > np.float32(0) else np.float32(0)
    return np.int32(t if t < last else last)


@kernel
def add_buckets(z, widths, stride, low, scale, counts):
    """Count every ``stride``-th value of each part on equal buckets; parts have these widths."""
    last = np.nextafter(np.float32(len(counts) << 16), np.float32(0))
    begin = 0
    for width in widths:
        for i in range(begin, begin + width, stride):
            counts[np.uint32(tick(z[i], low, scale, last)) >> np.uint32(16)] += np.int32(1)
        begin += width


@kernel
def share_cells(counts, b, slots):
    """Share b cells among buckets; see `_histogram.share_cells`.

    A slot packs the first cell of a bucket and its number of cells, in 16 bits each.
    """
    buckets = len(slots)
    even = b // (2 * buckets)
    by_count = (b - even * buckets) / counts.sum()
    first = seen = 0
    for g in range(buckets):
        seen += counts[g]
        end = b if g + 1 == buckets else (g + 1) * even + int(seen * by_count)
        slots[g] = first | (end - first) << 16
        first = end


@kernel
def ticks(z, low, scale, buckets, out):
    """Write the position of each value in ticks. This loop is vectorised."""
    last = np.nextafter(np.float32(buckets << 16), np.float32(0))
    for i in range(len(z)):
        out[i] = tick(z[i], low, scale, last)


@kernel
def position(t, slots):
    """Return the position at a tick: its cell, then 16 bits for where in the cell."""
    slot = np.uint32(slots[np.uint32(t) >> np.uint32(16)])
    first = np.uint32((slot & np.uint32(0xFFFF)) << np.uint32(16))
    inside = np.uint32(t & np.int32(0xFFFF)) * np.uint32(slot >> np.uint32(16))
    return np.int32(first + np.uint32(inside))


@kernel
def positions(z, low, scale, slots, where):
    """Write the position of each value.

    Buckets are looked up one by one: many CPUs run gather instructions in microcode, where they
    take several times as long.
    """
    ticks(z, low, scale, len(slots), where)
    for i in range(len(z)):
        where[i] = position(where[i], slots)


@kernel
def count(where, slots, counts):
    """Turn ticks into positions, and count them by cell, in turn on the four rows of ``counts``.

    With one row, an increment would have to wait for the last one if a value repeats.
    """
    fours = len(where) // 4 * 4
    for i in range(0, fours, 4):
        a, b = position(where[i], slots), position(where[i + 1], slots)
        c, d = position(where[i + 2], slots), position(where[i + 3], slots)
        counts[0, np.uint32(a) >> np.uint32(16)] += np.int32(1)
        counts[1, np.uint32(b) >> np.uint32(16)] += np.int32(1)
        counts[2, np.uint32(c) >> np.uint32(16)] += np.int32(1)
        counts[3, np.uint32(d) >> np.uint32(16)] += np.int32(1)
        where[i], where[i + 1], where[i + 2], where[i + 3] = a, b, c, d
    for i in range(fours, len(where)):
        where[i] = position(where[i], slots)
        counts[0, np.uint32(where[i]) >> np.uint32(16)] += np.int32(1)


@kernel
def count_cells(z, low, scale, slots, counts, kept, where, counters):
    """Write the number of values in each cell, and their positions if ``kept`` has room for them.

    ``where`` and ``counters`` are scratch.
    """
    counters[:] = 0
    for start in range(0, len(z), CHUNK_VALUES):
        chunk = z[start : start + CHUNK_VALUES]
        found = kept[start : start + CHUNK_VALUES] if len(kept) else where[: len(chunk)]
        ticks(chunk, low, scale, len(slots), found)
        count(found, slots, counters)
    for c in range(len(counts)):
        counts[c] = counters[0, c] + counters[1, c] + counters[2, c] + counters[3, c]


@kernel
def edges(low, high, slots, out):
    """Write the left edge of each cell, and the right edge of the last one."""
    buckets = len(slots)
    width = (np.float64(high) - np.float64(low)) / buckets
    for g in range(buckets):
        first, n = slots[g] & 0xFFFF, slots[g] >> 16
        begin, step = low + g * width, width / n
        for m in range(n):
            out[first + m] = begin + m * step
    out[-1] = low + buckets * width


@kernel
def compose(p, q, ratio, nudge, p_edge, q_edge, gap, start, rise):
    """Write T on each cell of p, from counts p and q; see `_histogram.compose`.

    F_p gives the first and the last rank of the values in cell j of p. Times ``ratio``, N/M, these
    are ranks r of q. F_q⁻¹ finds the cell i of q that holds rank r, and the value inside it.

    Ranks grow with j, so i only grows too: one sweep over both counts. Before each cell j:

    - ``rank`` values of p are in cells before j, so ``rank`` is the first rank of cell j;
    - ``seen`` values of q are in cells 0 to i, so the ranks of cell i end at ``seen`` − 1;
    - T is written on all cells before ``unwritten`` and ends there at the value ``end``. The cells
      from ``unwritten`` to j − 1 are empty. They are written once the next occupied one is known.

    Rank r is below N, so i stays below the number of cells. ``gap`` is scratch.
    """
    # The q[c] values of a cell are taken to be this far apart, the first half a gap from the edge.
    for c in range(len(gap)):
        gap[c] = (q_edge[c + 1] - q_edge[c]) / max(q[c], 1)
    rank = i = unwritten = 0
    seen = np.int64(q[0])
    end = np.float32(q_edge[0])
    for j in range(len(start)):
        if p[j] == 0:
            continue
        # T at the first rank of cell j. Ranks r are fractions: one that is more than half a gap
        # past the last value of cell i would leave the cell, so it stops at the edge.
        r = (rank + nudge) * ratio
        while seen <= np.int64(r):
            i += 1
            seen += q[i]
        begin = np.float32(min(q_edge[i] + (r - (seen - q[i]) + 0.5) * gap[i], q_edge[i + 1]))
        if unwritten < j:
            bridge(p_edge, unwritten, j, end, begin, start, rise)
        # T at the last rank of cell j, in the same way.
        rank += p[j]
        r = (rank - 1 + nudge) * ratio
        while seen <= np.int64(r):
            i += 1
            seen += q[i]
        end = np.float32(min(q_edge[i] + (r - (seen - q[i]) + 0.5) * gap[i], q_edge[i + 1]))
        start[j], rise[j], unwritten = begin, end - begin, j + 1
    # Right of all values of p, there is nothing to rise to: T is constant.
    start[unwritten:], rise[unwritten:] = end, np.float32(0)


@kernel
def bridge(edge, first, last, low, high, start, rise):
    """Write T on the empty cells from ``first`` to ``last`` − 1: a line from low to high.

    ``low`` is where T ends on the occupied cell before them, ``high`` where it begins on the next.

    No value of p is in an empty cell, but T is also applied to other particles, and these can be.
    Between two neighbouring values the exact map is a line, and so is this one. Without the bridge
    T would have no value there, or would jump.
    """
    for j in range(first, last):
        width = edge[last] - edge[first]
        height = np.float64(high) - np.float64(low)
        begin = np.float32(low + (edge[j] - edge[first]) / width * height)
        end = np.float32(low + (edge[j + 1] - edge[first]) / width * height)
        start[j], rise[j] = begin, end - begin


@kernel
def displace(z, where, start, rise, begin, by):
    """Replace values by their displacements T(z) − z, given their positions.

    ``begin`` and ``by`` are scratch for what is looked up, so that the rest is vectorised.
    """
    for i in range(len(z)):
        cell = np.uint32(where[i]) >> np.uint32(16)
        begin[i], by[i] = start[cell], rise[cell]
    for i in range(len(z)):
        inside = np.float32(where[i] & np.int32(0xFFFF)) * np.float32(2**-16)
        z[i] = begin[i] + inside * by[i] - z[i]


@kernel
def scale_of(low, high, buckets):
    """Return the number of ticks per unit of the values, with 65536 ticks per bucket."""
    return np.float32(buckets << 16) / max(high - low, np.float32(1e-30))


@kernel
def scratch(b):
    """Return the scratch arrays of `count_cells`."""
    return np.empty(CHUNK_VALUES, np.int32), np.empty((4, b + COUNTER_PADDING), np.int32)


@kernel
def count_row(z, widths, stride, slots, counts, kept, where, counters):
    """Write the grid of the values of a row, and their number in each cell; return the extremes."""
    low, high = extremes(z)
    buckets = np.zeros(len(slots), np.int32)
    scale = scale_of(low, high, len(slots))
    add_buckets(z, widths, stride, low, scale, buckets)
    share_cells(buckets, len(counts), slots)
    count_cells(z, low, scale, slots, counts, kept, where, counters)
    return low, high


@kernel
def count_rows(z, widths, stride, low, high, slots, counts):
    """Write, for each row, the grid of its values and their number in each cell."""
    where, counters = scratch(counts.shape[1])
    for i in range(len(z)):
        low[i], high[i] = count_row(
            z[i], widths, stride, slots[i], counts[i], where[:0], where, counters
        )


@kernel
def move_rows(z, z_widths, y, y_widths, stride, p, q, start, rise, ratio, nudge):
    """Count values z and y, make the table of the map from p to q, and replace z by T(z) − z.

    Each row is finished before the next one begins, so that it stays in the cache.
    """
    (p_low, p_high, p_slots, p_counts), (q_low, q_high, q_slots, q_counts) = p, q
    b = start.shape[1]
    kept, (where, counters) = np.empty(z.shape[1], np.int32), scratch(b)
    p_edge, q_edge, gap = np.empty(b + 1), np.empty(b + 1), np.empty(b)
    begin, by = np.empty((2, CHUNK_VALUES), np.float32)
    for i in range(len(z)):
        p_low[i], p_high[i] = count_row(
            z[i], z_widths, stride, p_slots[i], p_counts[i], kept, where, counters
        )
        q_low[i], q_high[i] = count_row(
            y[i], y_widths, stride, q_slots[i], q_counts[i], where[:0], where, counters
        )
        edges(p_low[i], p_high[i], p_slots[i], p_edge)
        edges(q_low[i], q_high[i], q_slots[i], q_edge)
        compose(p_counts[i], q_counts[i], ratio, nudge, p_edge, q_edge, gap, start[i], rise[i])
        for first in range(0, z.shape[1], CHUNK_VALUES):
            last = first + CHUNK_VALUES
            displace(z[i, first:last], kept[first:last], start[i], rise[i], begin, by)


# The same in separate passes, between which processes merge their results.


@kernel
def extremes_of_rows(z, low, high):
    """Write the extremes of each row."""
    for i in range(len(z)):
        low[i], high[i] = extremes(z[i])


@kernel
def count_buckets_of_rows(z, widths, stride, low, high, counts):
    """Count a sample of the values of each row on buckets."""
    h, buckets = counts.shape
    for i in range(h):
        scale = scale_of(low[i], high[i], buckets)
        add_buckets(z[i], widths, stride, low[i], scale, counts[i])


@kernel
def count_cells_of_rows(z, low, high, slots, counts):
    """Write the number of values of each row in each cell of its grid."""
    h, b = counts.shape
    where, counters = scratch(b)
    for i in range(h):
        scale = scale_of(low[i], high[i], slots.shape[1])
        count_cells(z[i], low[i], scale, slots[i], counts[i], where[:0], where, counters)


@kernel
def make_tables(p, q, start, rise, ratio, nudge):
    """Write, for each row, the table of the map from p to q, which are given by their counts."""
    (p_low, p_high, p_slots, p_counts), (q_low, q_high, q_slots, q_counts) = p, q
    h, b = start.shape
    p_edge, q_edge, gap = np.empty(b + 1), np.empty(b + 1), np.empty(b)
    for i in range(h):
        edges(p_low[i], p_high[i], p_slots[i], p_edge)
        edges(q_low[i], q_high[i], q_slots[i], q_edge)
        compose(p_counts[i], q_counts[i], ratio, nudge, p_edge, q_edge, gap, start[i], rise[i])


@kernel
def displace_rows(z, low, high, slots, start, rise):
    """Replace each value by its displacement T(z) − z, row by row."""
    where = np.empty(CHUNK_VALUES, np.int32)
    begin, by = np.empty((2, CHUNK_VALUES), np.float32)
    for i in range(len(z)):
        scale = scale_of(low[i], high[i], slots.shape[1])
        for first in range(0, z.shape[1], CHUNK_VALUES):
            chunk = z[i, first : first + CHUNK_VALUES]
            positions(chunk, low[i], scale, slots[i], where)
            displace(chunk, where, start[i], rise[i], begin, by)


@kernel
def average_parts(low, high, slots, counts, ends, means):
    """Write, for each row, the means of parts of its values; see `Counted.means`."""
    edge = np.empty(counts.shape[1] + 1)
    for i in range(len(counts)):
        average_row(low[i], high[i], slots[i], counts[i], ends, edge, means[i])


@kernel
def average_row(low, high, slots, counts, ends, edge, means):
    """Write the means of parts of the values of a row. ``edge`` is scratch.

    ``seen`` values, with the sum ``total``, are in the cells before c. A part ends in cell c, after
    ``taken`` of its values, which are taken to be spread evenly from the left edge on.
    """
    last, n = len(counts) - 1, counts.sum()
    edges(low, high, slots, edge)
    c, seen, total, sum_before, rank_before = 0, 0, 0.0, 0.0, n * ends[0]
    for k in range(len(ends) - 1):
        rank = n * ends[k + 1]
        while c < last and seen + counts[c] < rank:
            seen += counts[c]
            total += counts[c] * (edge[c] + edge[c + 1]) / 2
            c += 1
        taken = rank - seen
        middle = taken / max(counts[c], 1) / 2
        sum_upto = total + taken * (edge[c] + middle * (edge[c + 1] - edge[c]))
        means[k] = (sum_upto - sum_before) / (rank - rank_before)
        sum_before, rank_before = sum_upto, rank


@kernel
def knots_of_rows(p, q, ends, positions, move_by):
    """Write the knots of each row's map from p to q; see `HistogramMap.by_knots`."""
    (p_low, p_high, p_slots, p_counts), (q_low, q_high, q_slots, q_counts) = p, q
    parts = len(ends) - 1
    edge, x, y = np.empty(p_counts.shape[1] + 1), np.empty(parts + 2), np.empty(parts + 2)
    for i in range(len(positions)):
        average_row(p_low[i], p_high[i], p_slots[i], p_counts[i], ends, edge, x[1:-1])
        average_row(q_low[i], q_high[i], q_slots[i], q_counts[i], ends, edge, y[1:-1])
        x[0], x[-1] = p_low[i], p_high[i]
        y[0] = y[1] + slope_between(x[1:3], y[1:3]) * (x[0] - x[1])
        y[-1] = y[-2] + slope_between(x[-3:-1], y[-3:-1]) * (x[-1] - x[-2])
        above = up = -np.inf
        for k in range(positions.shape[1]):
            knot = min(k, parts + 1)
            inside = min(max(y[knot], np.float64(q_low[i])), np.float64(q_high[i]))
            above, up = max(above, x[knot]), max(up, inside)
            positions[i, k], move_by[i, k] = np.float32(above), np.float32(up - above)


@kernel
def slope_between(x, y):
    """Return the slope of the line through two points; 0 if one is above the other."""
    slope = (y[1] - y[0]) / (x[1] - x[0])
    return slope if np.isfinite(slope) else 0.0


@kernel
def locate(z, x, where):
    """Write the index of the last knot x at or below each value, from 0 to len(x) − 2.

    This is the number of inner knots at or below the value. Comparing every value with every knot
    is vectorised, and for a few dozen knots faster than a binary search.
    """
    where[: len(z)] = 0
    knots = len(x) - 2
    fours = 1 + knots // 4 * 4
    for k in range(1, fours, 4):
        a, b, c, d = x[k], x[k + 1], x[k + 2], x[k + 3]
        for i in range(len(z)):
            v = z[i]
            where[i] += np.int32(a <= v) + np.int32(b <= v) + np.int32(c <= v) + np.int32(d <= v)
    for k in range(fours, 1 + knots):
        a = x[k]
        for i in range(len(z)):
            where[i] += np.int32(a <= z[i])


@kernel
def interpolate(z, where, x, move_by, slope):
    """Replace values by their displacements, given the knot before each.

    Values are looked up one by one. Three gather instructions for each would be slower, by a factor
    of three on CPUs that run them in microcode.
    """
    low, high = x[0], x[-1]
    for i in range(len(z)):
        value, knot = z[i], np.uint32(where[i])
        inside = min(max(value, low), high)  # beyond the outermost knots, T is constant
        along = (inside - x[knot]) * slope[knot]
        z[i] = move_by[knot] + along + (inside - value)


@kernel
def interpolate_row(z, x, move_by, where, slope):
    """Replace each value by its displacement, which is linear between two knots."""
    for k in range(len(x) - 1):
        width = max(x[k + 1] - x[k], np.float32(1e-30))
        rise = (move_by[k + 1] - move_by[k]) / width
        slope[k] = rise if np.isfinite(rise) else np.float32(0)  # two knots at one place: a jump
    for begin in range(0, len(z), CHUNK_VALUES):
        chunk = z[begin : begin + CHUNK_VALUES]
        locate(chunk, x, where)
        interpolate(chunk, where, x, move_by, slope)


@kernel
def unpack(integers, low, high, half, values):
    """Write the values that integers from −half to half − 1 stand for; see `_knots.PackedMap`."""
    step = (high - low) / (half + half - np.float32(1))
    for k in range(len(integers)):
        values[k] = low + (np.float32(integers[k]) + half) * step


@kernel
def add_gaps(integers, low, high, half, values):
    """Write the positions between which these integers are the square roots of gaps."""
    first, last, total = np.float64(low), np.float64(half + half - np.float32(1)), 0.0
    width = (np.float64(high) - first) / (last * last)
    for k in range(len(integers)):
        root = np.float64(integers[k]) + np.float64(half)
        total += root * root * width
        values[k] = first + total


@kernel
def interpolate_packed_rows(z, knots, low, high, half, has_gaps):
    """Displace values by maps whose knots, (2, H, K), are integers."""
    where, slope = np.empty(CHUNK_VALUES, np.int32), np.empty(knots.shape[2] - 1, np.float32)
    x, move_by = np.empty(knots.shape[2], np.float32), np.empty(knots.shape[2], np.float32)
    for i in range(len(z)):
        if has_gaps:
            add_gaps(knots[0, i], low[0, i, 0], high[0, i, 0], half, x)
        else:
            unpack(knots[0, i], low[0, i, 0], high[0, i, 0], half, x)
        unpack(knots[1, i], low[1, i, 0], high[1, i, 0], half, move_by)
        interpolate_row(z[i], x, move_by, where, slope)


@kernel
def keep_farthest(x, move_by, knots, kept):
    """Mark, in each row, the ends and the knots that are farthest from lines between those kept."""
    last = x.shape[1] - 1
    for i in range(len(x)):
        kept[i, 0] = kept[i, last] = True
        for _ in range(min(knots, last + 1) - 2):
            kept[i, farthest(x[i], move_by[i], kept[i])] = True


@kernel
def farthest(x, move_by, kept):
    """Return the knot that is not kept whose displacement is farthest from the lines."""
    distance, found, left = np.float32(-1), 0, 0
    for right in range(1, len(x)):
        if not kept[right]:
            continue
        width = max(x[right] - x[left], np.float32(1e-30))
        for k in range(left + 1, right):
            along = (x[k] - x[left]) / width
            line = move_by[left] + along * (move_by[right] - move_by[left])
            if abs(move_by[k] - line) > distance:
                distance, found = abs(move_by[k] - line), k
        left = right
    return found
