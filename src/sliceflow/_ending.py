"""How a command ends that cannot go on: with one line that says why, and an exit code."""

import sys
from typing import NoReturn

from sliceflow._terminal import say

FAILED, WRONG_USE, SIGNALLED, INTERRUPTED, BROKEN_PIPE = 1, 2, 128, 130, 141
"""Exit codes of an error and of a wrong command; and, by signal, of Ctrl-C and a closed pipe."""

_prints = True


def leave_lines_to_launcher() -> None:
    """Let `sliceflow.launch` print the line of `end`: once, for all processes and attempts."""
    global _prints
    _prints = False


def end(line: str, code: int) -> NoReturn:
    """Print why the command ends, unless the launcher will, and end the process."""
    if _prints:
        say(line, sys.stderr)
    ending = SystemExit(code)
    ending.add_note(line)
    raise ending
