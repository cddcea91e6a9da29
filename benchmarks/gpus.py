"""What large data would take on GPUs: the model of docs/scaling.md with figures of data sheets.

Nothing here is measured: it is arithmetic, on what a step reads, writes, multiplies and sends.
"""

from collections.abc import Iterator

from benchmarks.cost import Size, terms
from benchmarks.ranks import formula
from sliceflow.flow.schedules import Stage, pyramid
from sliceflow.reproduce._figures import Figure
from sliceflow.transport._histogram import CELLS

ROOM, MEMORY, FLOPS = 80e9, 2.0e12, 19.5e12
"""Of a GPU: bytes, and bytes and float32 operations a second; NVIDIA A100, by its data sheet."""
INSIDE, BETWEEN = 300e9, 25e9
"""Bytes a second that a GPU sends: to others of its machine, by NVLink; else, at 200 Gb/s."""
MACHINE, READ = 8, 5e9
"""GPUs of a machine, and bytes of images a second that it reads: one or two good disks."""
LAUNCHES = 1e-3
"""Seconds of a step in which kernels are launched and messages begin, whatever their size."""
COUNTED, MOVED = 24, 20
"""Bytes that are read and written for a value counted (projected, then read for extremes, buckets
and cells) and for a value moved (mapped, lifted, added)."""
PARTICLES, LEAST = 10**6, 10**6
"""Particles, and the fewest rows of a stage."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the minutes of a fit that sees each image once, and what they are for."""
    for side in (64, 256):
        for exponent in (6, 9):
            for gpus in (8, 64, 512):
                yield estimate(side, exponent, gpus)


def estimate(side: int, exponent: int, gpus: int) -> Figure:
    """Return the minutes: reading is done meanwhile, and counts where it takes longer."""
    images, schedule = 10**exponent, pyramid((3, side, side), "best")
    n = max(LEAST, images // len(schedule))
    work = sum(stage.steps * (LAUNCHES + working(stage, n, gpus)) for stage in schedule)
    wire = sum(stage.steps * sending(stage, gpus) for stage in schedule)
    reading = len(schedule) * n * 3 * side**2 / READ / (gpus / MACHINE)
    held = memory(side, n, gpus)
    bound = "reading" if reading > work + wire else f"network {wire / (work + wire):.0%}"
    about = f"10^{exponent} images of {side}×{side} on {gpus} GPUs, {held / 1e9:.0f} GB each"
    told = f"estimate: {about}, {bound if held < ROOM else 'which do not fit'}"
    minutes = max(work + wire, reading) / 60
    return Figure(f"gpus.minutes.{side}.1e{exponent}.{gpus}", minutes, "min", told)


def working(stage: Stage, n: int, gpus: int) -> float:
    """Return the seconds that a GPU works on a step: its products, and what it reads and writes."""
    size = Size(3, *sides(stage), PARTICLES // gpus, n // gpus, CELLS)
    products, counted, moved, cells, _ = terms(size)
    return products / FLOPS + (COUNTED * counted + MOVED * moved + 4 * cells) / MEMORY


def sending(stage: Stage, gpus: int) -> float:
    """Return the seconds that merging takes, in a ring."""
    k, patch = sides(stage)
    rate = INSIDE if gpus <= MACHINE else BETWEEN
    return 2 * (gpus - 1) / gpus * formula(3 * (k // patch * patch) ** 2, CELLS) / rate


def sides(stage: Stage) -> tuple[int, int]:
    """Return the sides of a level and of its patches."""
    k = stage.resolution or 1
    return k, min(stage.patch or k, k)


def memory(side: int, n: int, gpus: int) -> float:
    """Return the bytes on a GPU: two batches of bytes, particles and their moves."""
    return 3 * side**2 * (2 * n + 8 * PARTICLES) / gpus
