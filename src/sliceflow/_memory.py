"""The most memory that this process had, and how much there is for it."""

import math
import re
import resource
import sys
from pathlib import Path

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Linux alone can count anew from a moment on."""

SYSTEM = Path("/proc/meminfo")
LIMITS = [Path("/sys/fs/cgroup", n) for n in ("memory.max", "memory/memory.limit_in_bytes")]
"""Of a container, in the second and the first version of Linux's control groups."""

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def forget_peak() -> None:
    """Count anew from here, if that is possible."""
    if FORGET.exists():
        FORGET.write_text("5")


def peak_memory() -> int:
    """Return the most bytes since then, else since the process began."""
    if STATUS.exists():
        return 1024 * int(re.findall(r"VmHWM:\s*(\d+)", STATUS.read_text())[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def free_memory() -> int | None:
    """Return how many bytes this process can still have, if the system tells."""
    known = [free for free in (_free_of_system(), _limit_of_group()) if free is not None]
    return min(known, default=None)


def check_memory(name: str, n: int, each: int) -> None:
    """Refuse to begin with n of something, of so many bytes each, that cannot fit in memory."""
    free = free_memory()
    if free is not None and n * each > free:
        raise ValueError(
            f"{name}={n} needs at least {_told(n * each)} of memory, and {_told(free)} are free: "
            f"pass {name}={max(1, free // each)} or less"
        )


def _free_of_system() -> int | None:
    if not SYSTEM.exists():
        return None
    found = re.findall(r"(?:MemAvailable|SwapFree):\s*(\d+)", SYSTEM.read_text())
    return 1024 * sum(map(int, found))


def _limit_of_group() -> int | None:
    """Return the limit of a container. What it uses says little: most of it may be cached files."""
    limits = [path.read_text().strip() for path in LIMITS if path.exists()]
    return min((int(limit) for limit in limits if limit.isdigit()), default=None)


def _told(n: float) -> str:
    """Return a number of bytes in the unit that people use for as many."""
    power = min(int(math.log2(max(1, n))) // 10, len(UNITS) - 1)
    return f"{n / 1024**power:.3g} {UNITS[power]}"
