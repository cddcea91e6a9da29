"""A process of `sliceflow.launch`: runs a script or module, and passes errors to the launcher.

    python -m sliceflow.launch._worker fit.py --option
    python -m sliceflow.launch._worker -m package.module --option

It does not print its error, but writes it to the file that torchrun expects. When one process
fails, the others lose their connection to it; such connection errors are not written.
"""

import json
import os
import runpy
import sys
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import time

from torch.distributed import DistError

from sliceflow.core._exits import FAILED, INTERRUPTED, leave_printing_to_launcher


@dataclass(frozen=True)
class Failure:
    """Why a process ended.

    ``place`` is the type of the error and the line that raised it, to recognise the same error.
    torchrun reads the file too, and expects ``message`` and ``timestamp``.
    """

    message: str
    place: str
    code: int
    timestamp: float

    @classmethod
    def of(cls, error: BaseException, message: str, code: int) -> "Failure":
        """Return the failure for an error."""
        *_, first = (each for each in chain(error) if each.__traceback__)
        *_, (frame, line) = traceback.walk_tb(first.__traceback__)
        place = f"{type(first).__name__} in {frame.f_code.co_filename}, line {line}"
        return cls(message, place, code, time())

    @classmethod
    def read(cls, path: str) -> "Failure | None":
        """Return the failure in a file, if there is one."""
        try:
            return cls(**json.loads(Path(path).read_text()))
        except (OSError, ValueError, TypeError):  # no file, or an incomplete one
            return None

    def write(self) -> None:
        """Write it to the file that torchrun expects."""
        Path(os.environ["TORCHELASTIC_ERROR_FILE"]).write_text(json.dumps(asdict(self)))


def main(arguments: list[str]) -> None:
    """Run a script or a module. If it fails, report the error and exit with its code."""
    leave_printing_to_launcher()
    try:
        run(arguments)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int | None) else FAILED
        if code:
            report(end, message_of(end), code)
        sys.exit(code)
    except Exception as error:
        report(error, traceback_of(error), FAILED)
        sys.exit(FAILED)


def run(arguments: list[str]) -> None:
    """Run a script or a module, as Python does."""
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


def report(error: BaseException, message: str, code: int) -> None:
    """Write an error for the launcher, unless it only says that another process is gone."""
    if not any(is_connection_error(each) for each in chain(error)):
        Failure.of(error, message, code).write()


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, the original one last."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def is_connection_error(error: BaseException) -> bool:
    """Return whether an error is about the connection between processes."""
    is_of_gloo = isinstance(error, RuntimeError) and "gloo" in str(error)
    return is_of_gloo or isinstance(error, DistError)


def message_of(end: SystemExit) -> str:
    """Return the message of a process that exited by itself."""
    lines = getattr(end, "__notes__", [])
    if isinstance(end.code, str):
        lines = [end.code]
    return "\n".join(lines) or f"a process exited with code {end.code}"


def traceback_of(error: Exception) -> str:
    """Return the traceback of an error, without the frames of this file."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip()


if __name__ == "__main__":
    main(sys.argv[1:])
