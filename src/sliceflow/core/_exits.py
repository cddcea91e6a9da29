"""How a failed command ends: with one line that says why, and an exit code."""

import sys
from typing import NoReturn

from sliceflow.core._terminal import print_safely

FAILED, WRONG_USE, SIGNALLED, INTERRUPTED, BROKEN_PIPE = 1, 2, 128, 130, 141
"""Exit codes: an error, wrong usage, 128 plus the signal, Ctrl-C and a closed pipe."""

_prints = True


def leave_printing_to_launcher() -> None:
    """Let `sliceflow.launch` print the line of `exit_with` once for all processes and attempts."""
    global _prints
    _prints = False


def exit_with(line: str, code: int) -> NoReturn:
    """Print why the command ends, unless the launcher does, and exit."""
    if _prints:
        print_safely(line, sys.stderr)
    exit_error = SystemExit(code)
    exit_error.add_note(line)
    raise exit_error
