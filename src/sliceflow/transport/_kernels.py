"""The compiled CPU kernels of `transport.histogram`, row by row; its functions are their oracle.

Both compute the same integers and, from them, the same floats in the same order: equal to the bit.
The kernels let go of Python's lock, so that several threads can work on rows of their own.
"""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

COUNTER_PADDING = 16
"""Cells between counters: addresses whose last bits agree wait for one another."""

CHUNK_VALUES = 1024
"""Values located at a time: their positions stay in the fastest cache."""

NUMBA_OPTIONS = {"nogil": True, "error_model": "numpy"}


def kernel(function):
    """Compile a function at its first call, and keep that for other processes if there is a place.

    There is none if neither the package nor the user's home can be written to.
    """
    try:
        return njit(function, cache=True, **NUMBA_OPTIONS)
    except RuntimeError:
        return njit(function, **NUMBA_OPTIONS)


def _tables_scope(builder):
    module = builder.module
    domain = module.add_metadata(["sliceflow"])
    return module.add_metadata([module.add_metadata(["sliceflow.tables", domain])])


def _pointer(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


# LLVM makes one gather instruction of many look-ups only if it knows that what is stored in the
# same loop is not part of the table. Numba has no word for that, LLVM has: a scope of the tables
# alone (looked up), which what is read and written beside them (load, store) does not alias.


def _reader(relation):
    """Return what reads ``array[index]`` and tells LLVM its relation to the tables."""

    @intrinsic
    def read(typing_context, array, index):
        def generate(context, builder, signature, arguments):
            value = builder.load(_pointer(context, builder, signature.args[0], *arguments))
            value.set_metadata(relation, _tables_scope(builder))
            return value

        return array.dtype(array, types.uintp), generate

    return read


look_up = _reader("alias.scope")
load = _reader("noalias")


@intrinsic
def store(typing_context, array, index, value):
    """Set ``array[index]`` of an array that is no table."""

    def generate(context, builder, signature, arguments):
        array, index, value = arguments
        pointer = _pointer(context, builder, signature.args[0], array, index)
        builder.store(value, pointer).set_metadata("noalias", _tables_scope(builder))
        return context.get_dummy_value()

    return types.none(array, types.uintp, array.dtype), generate


@kernel
def _ordered(bits):
    """Return an integer ordered as the float of these bits is; its own inverse."""
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@kernel
def extremes(z):
    """Return the smallest and the largest value. Compared as integers, which is vectorised.

    Zero is always the positive one: processes would not agree on which of the two is less.
    """
    low, high = np.int32(0x7FFFFFFF), np.int32(-0x80000000)
    for i in range(len(z)):
        value = _ordered(np.float32(z[i]).view(np.int32))
        low, high = min(low, value), max(high, value)
    low, high = np.int32(_ordered(low)).view(np.float32), np.int32(_ordered(high)).view(np.float32)
    return low + np.float32(0), high + np.float32(0)


@kernel
def tick(value, low, scale, last):
    """Return where a value lies between the extremes, in 1/65536 of a bucket."""
    t = (value - low) * scale
    t = t if t > np.float32(0) else np.float32(0)
    return np.int32(t if t < last else last)


@kernel
def add_buckets(z, widths, stride, low, scale, counts):
    """Count one value in ``stride`` of each part on equal buckets; parts have these widths."""
    last = np.nextafter(np.float32(len(counts) << 16), np.float32(0))
    begin = 0
    for width in widths:
        for i in range(begin, begin + width, stride):
            counts[np.uint32(tick(z[i], low, scale, last)) >> np.uint32(16)] += np.int32(1)
        begin += width


@kernel
def share_cells(counts, b, slots):
    """Share b cells among buckets; see `histogram.share_cells`.

    A slot holds both numbers of a bucket, its first cell and how many it has, in 16 bits each.
    """
    buckets = len(slots)
    even = b // (2 * buckets)
    by_count = (b - even * buckets) / counts.sum()
    first = seen = 0
    for g in range(buckets):
        seen += counts[g]
        following = b if g + 1 == buckets else (g + 1) * even + int(seen * by_count)
        slots[g] = first | (following - first) << 16
        first = following


@kernel
def positions(z, low, scale, slots, out):
    """Write each value's position among the cells: the cell, and 16 bits of where in it."""
    last = np.nextafter(np.float32(len(slots) << 16), np.float32(0))
    for i in range(len(z)):
        t = tick(load(z, i), low, scale, last)
        slot = look_up(slots, np.uint32(np.int32(t >> np.int32(16))))
        first = np.int32(np.int32(slot & np.int32(0xFFFF)) << np.int32(16))
        inside = np.int32(np.int32(t & np.int32(0xFFFF)) * np.int32(slot >> np.int32(16)))
        store(out, i, np.int32(first + inside))


@kernel
def add_counts(where, counts):
    """Count positions by cell, in four counters that take turns, the rows of ``counts``.

    With one, a value that repeats would wait for its own last count.
    """
    fours = len(where) // 4 * 4
    for i in range(0, fours, 4):
        counts[0, np.uint32(where[i]) >> np.uint32(16)] += np.int32(1)
        counts[1, np.uint32(where[i + 1]) >> np.uint32(16)] += np.int32(1)
        counts[2, np.uint32(where[i + 2]) >> np.uint32(16)] += np.int32(1)
        counts[3, np.uint32(where[i + 3]) >> np.uint32(16)] += np.int32(1)
    for i in range(fours, len(where)):
        counts[0, np.uint32(where[i]) >> np.uint32(16)] += np.int32(1)


@kernel
def count_cells(z, low, scale, slots, counts, where, four):
    """Write how many values are in each cell; ``where`` and ``four`` are scratch."""
    four[:] = 0
    for start in range(0, len(z), CHUNK_VALUES):
        chunk = z[start : start + CHUNK_VALUES]
        positions(chunk, low, scale, slots, where)
        add_counts(where[: len(chunk)], four)
    for c in range(len(counts)):
        counts[c] = four[0, c] + four[1, c] + four[2, c] + four[3, c]


@kernel
def edges(low, high, slots, out):
    """Write where each cell begins, and where the last one ends."""
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
    """Write the map from the cells of p to the values of q; see `histogram.compose`.

    Ranks only grow: one sweep over both counts. ``gap`` is scratch.
    """
    for c in range(len(gap)):  # between values that are spread evenly over their cell
        gap[c] = (q_edge[c + 1] - q_edge[c]) / max(q[c], 1)
    rank = i = following = 0
    upto = np.int64(q[0])
    end = np.float32(q_edge[0])
    for j in range(len(start)):
        if p[j] == 0:
            continue
        r = (rank + nudge) * ratio
        while upto <= np.int64(r):
            i += 1
            upto += q[i]
        begin = np.float32(min(q_edge[i] + (r - (upto - q[i]) + 0.5) * gap[i], q_edge[i + 1]))
        bridge(p_edge, following, j, end, begin, start, rise)
        rank += p[j]
        r = (rank - 1 + nudge) * ratio
        while upto <= np.int64(r):
            i += 1
            upto += q[i]
        end = np.float32(min(q_edge[i] + (r - (upto - q[i]) + 0.5) * gap[i], q_edge[i + 1]))
        start[j], rise[j], following = begin, end - begin, j + 1
    start[following:], rise[following:] = end, np.float32(0)


@kernel
def bridge(edge, first, last, low, high, start, rise):
    """Write a map that rises evenly from low to high over empty cells, from first to last − 1."""
    for j in range(first, last):
        width = edge[last] - edge[first]
        slope = np.float64(high) - np.float64(low)
        begin = np.float32(low + (edge[j] - edge[first]) / width * slope)
        end = np.float32(low + (edge[j + 1] - edge[first]) / width * slope)
        start[j], rise[j] = begin, end - begin


@kernel
def displace(z, where, start, rise):
    """Replace values at these positions by their displacement."""
    for i in range(len(z)):
        position = load(where, i)
        cell = np.uint32(np.int32(position >> np.int32(16)))
        inside = np.float32(np.int32(position & np.int32(0xFFFF))) * np.float32(2**-16)
        store(z, i, look_up(start, cell) + inside * look_up(rise, cell) - load(z, i))


@kernel
def scale_of(low, high, buckets):
    """Return how many ticks, 1/65536 of a bucket, are in a unit of the values."""
    return np.float32(buckets << 16) / max(high - low, np.float32(1e-30))


@kernel
def scratch(b):
    """Return what `count_cells` works with."""
    return np.empty(CHUNK_VALUES, np.int32), np.empty((4, b + COUNTER_PADDING), np.int32)


@kernel
def count_rows(z, widths, stride, low, high, slots, counts):
    """Write, for each row, the grid of its values and how many are in each cell."""
    h, b = counts.shape
    buckets, (where, four) = np.empty(slots.shape[1], np.int32), scratch(b)
    for i in range(h):
        low[i], high[i] = extremes(z[i])
        scale = scale_of(low[i], high[i], len(buckets))
        buckets[:] = 0
        add_buckets(z[i], widths, stride, low[i], scale, buckets)
        share_cells(buckets, b, slots[i])
        count_cells(z[i], low[i], scale, slots[i], counts[i], where, four)


# The same in steps, for what many processes have to merge between them.


@kernel
def extremes_of_rows(z, low, high):
    """Write the extremes of each row."""
    for i in range(len(z)):
        low[i], high[i] = extremes(z[i])


@kernel
def count_buckets_of_rows(z, widths, stride, low, high, counts):
    """Count some values of each row on buckets."""
    h, buckets = counts.shape
    for i in range(h):
        scale = scale_of(low[i], high[i], buckets)
        add_buckets(z[i], widths, stride, low[i], scale, counts[i])


@kernel
def count_cells_of_rows(z, low, high, slots, counts):
    """Write how many values of each row are in each cell of its grid."""
    h, b = counts.shape
    where, four = scratch(b)
    for i in range(h):
        scale = scale_of(low[i], high[i], slots.shape[1])
        count_cells(z[i], low[i], scale, slots[i], counts[i], where, four)


@kernel
def make_tables(p, q, start, rise, ratio, nudge):
    """Write, for each row, the table of the map from p to q, both counted."""
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
    for i in range(len(z)):
        scale = scale_of(low[i], high[i], slots.shape[1])
        for begin in range(0, z.shape[1], CHUNK_VALUES):
            chunk = z[i, begin : begin + CHUNK_VALUES]
            positions(chunk, low[i], scale, slots[i], where)
            displace(chunk, where, start[i], rise[i])


@kernel
def average_parts(low, high, slots, counts, ends, means):
    """Write, for each row, the means of parts of its values; see `Counted.means`."""
    h, b = counts.shape
    edge = np.empty(b + 1)
    for i in range(h):
        edges(low[i], high[i], slots[i], edge)
        rank = counts[i].sum() * ends
        c, upto, total, before = 0, 0.0, 0.0, 0.0
        for k in range(len(ends) - 1):
            while c < b - 1 and upto + counts[i, c] < rank[k + 1]:
                upto += counts[i, c]
                total += counts[i, c] * (edge[c] + edge[c + 1]) / 2
                c += 1
            taken = rank[k + 1] - upto
            half = taken / max(counts[i, c], 1) / 2
            sofar = total + taken * (edge[c] + half * (edge[c + 1] - edge[c]))
            means[i, k], before = (sofar - before) / (rank[k + 1] - rank[k]), sofar


@kernel
def locate(z, x, where):
    """Write which of the knots x, but the last, each value has reached, the first at least.

    Each value is compared with each of the few knots: without a look-up, many at a time.
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
    """Replace values at these knots by their displacement.

    One by one: three gathers for each are slower, threefold on CPUs that do them in microcode.
    """
    low, high = x[0], x[-1]
    for i in range(len(z)):
        value, knot = z[i], np.uint32(where[i])
        inside = min(max(value, low), high)
        along = (inside - x[knot]) * slope[knot]
        z[i] = move_by[knot] + along + (inside - value)


@kernel
def interpolate_row(z, x, move_by, where, slope):
    """Replace each value by its displacement on the line between two knots."""
    for k in range(len(x) - 1):
        width = max(x[k + 1] - x[k], np.float32(1e-30))
        rise = (move_by[k + 1] - move_by[k]) / width
        slope[k] = rise if np.isfinite(rise) else np.float32(0)  # a jump has no slope
    for begin in range(0, len(z), CHUNK_VALUES):
        chunk = z[begin : begin + CHUNK_VALUES]
        locate(chunk, x, where)
        interpolate(chunk, where, x, move_by, slope)


@kernel
def interpolate_rows(z, x, move_by):
    """Displace values by maps with these knots; see `knots.KnotMap`."""
    where, slope = np.empty(CHUNK_VALUES, np.int32), np.empty(x.shape[1] - 1, np.float32)
    for i in range(len(z)):
        interpolate_row(z[i], x[i], move_by[i], where, slope)


@kernel
def unpack(integers, low, high, half, values):
    """Write what integers stand for, of which the least is −half; see `knots.PackedMap`."""
    step = (high - low) / (half + half - np.float32(1))
    for k in range(len(integers)):
        values[k] = low + (np.float32(integers[k]) + half) * step


@kernel
def interpolate_packed_rows(z, knots, low, high, half):
    """Displace values by maps whose knots, (2, H, K), are integers."""
    where, slope = np.empty(CHUNK_VALUES, np.int32), np.empty(knots.shape[2] - 1, np.float32)
    x, move_by = np.empty(knots.shape[2], np.float32), np.empty(knots.shape[2], np.float32)
    for i in range(len(z)):
        unpack(knots[0, i], low[0, i, 0], high[0, i, 0], half, x)
        unpack(knots[1, i], low[1, i, 0], high[1, i, 0], half, move_by)
        interpolate_row(z[i], x, move_by, where, slope)
