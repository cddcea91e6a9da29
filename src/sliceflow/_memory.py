"""The most memory that this process had."""

import re
import resource
import sys
from pathlib import Path

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Linux alone can count anew from a moment on."""


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
