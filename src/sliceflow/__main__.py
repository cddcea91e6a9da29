"""`sliceflow`, and `python -m sliceflow`: the command line as a process."""

import os
import sys

from sliceflow.core._exits import BROKEN_PIPE
from sliceflow.core._interrupts import end_when_interrupted


def main() -> None:
    """Run the command line. Whenever it is interrupted, it ends without a traceback."""
    end_when_interrupted()
    from sliceflow.cli import main as run

    try:
        run()
    finally:
        try:
            print(end="", flush=True)
        except OSError:  # nobody reads it: Python would try again at exit, and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(BROKEN_PIPE)


if __name__ == "__main__":
    main()
