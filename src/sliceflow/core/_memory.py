"""Peak memory of this process, and the memory that is available to it."""

import math
import re
import sys
from pathlib import Path

STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Only Linux can reset the peak."""

SYSTEM = Path("/proc/meminfo")
LIMITS = [Path("/sys/fs/cgroup", n) for n in ("memory.max", "memory/memory.limit_in_bytes")]
"""Limit of a container, in versions 2 and 1 of Linux's control groups."""

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def reset_peak() -> None:
    """Reset the peak, where that is possible."""
    if CLEAR_REFS.exists():
        CLEAR_REFS.write_text("5")


def peak_memory() -> int:
    """Return the peak memory in bytes, since `reset_peak` or the start of the process.

    On Windows, which has no `resource`, it is not known: 0.
    """
    if STATUS.exists():
        return 1024 * int(re.findall(r"VmHWM:\s*(\d+)", STATUS.read_text())[0])
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def free_memory() -> int | None:
    """Return the number of bytes that this process can still allocate, if known."""
    known = [free for free in (_free_of_system(), _limit_of_group()) if free is not None]
    return min(known, default=None)


def check_memory(name: str, n: int, each: int) -> None:
    """Refuse n items of ``each`` bytes that cannot fit in memory."""
    free = free_memory()
    if free is not None and n * each > free:
        needed, fitting = _format(n * each), max(1, free // each)
        raise ValueError(
            f"{name}={n} needs at least {needed} of memory, but {_format(free)} are free: "
            f"pass {name}={fitting} or less"
        )


def _free_of_system() -> int | None:
    if not SYSTEM.exists():
        return None
    found = re.findall(r"(?:MemAvailable|SwapFree):\s*(\d+)", SYSTEM.read_text())
    return 1024 * sum(map(int, found))


def _limit_of_group() -> int | None:
    """Return the limit of a container. Its current use is ignored: it may be mostly file cache."""
    limits = [path.read_text().strip() for path in LIMITS if path.exists()]
    return min((int(limit) for limit in limits if limit.isdigit()), default=None)


def _format(n: float) -> str:
    """Return a number of bytes in a suitable unit."""
    power = min(int(math.log2(max(1, n))) // 10, len(UNITS) - 1)
    return f"{n / 1024**power:.3g} {UNITS[power]}"
