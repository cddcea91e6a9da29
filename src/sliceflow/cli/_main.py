"""The command line. `sliceflow --help` says what it does."""

import errno
import importlib
import os
import re
import sys
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import version

import yaml

from sliceflow.cli._options import (
    Bench,
    Evaluate,
    Export,
    Fit,
    Impute,
    Info,
    Inpaint,
    Reproduce,
    Sample,
    Serve,
)
from sliceflow.cli._parser import parser_of
from sliceflow.core._exits import BROKEN_PIPE, FAILED, INTERRUPTED, exit_with
from sliceflow.core._interrupts import cleaning_up
from sliceflow.core._terminal import print_safely

COMMANDS = {
    "fit": Fit,
    "sample": Sample,
    "inpaint": Inpaint,
    "impute": Impute,
    "evaluate": Evaluate,
    "info": Info,
    "export": Export,
    "serve": Serve,
    "reproduce": Reproduce,
    "bench": Bench,
}

ABOUT = """Sample p(x) and p(x | y) of images and tables, without a network and without training.

Examples:
  sliceflow fit mnist --y label --schedule quick
  sliceflow sample runs/mnist --y 7 --out sevens.png
  sliceflow evaluate runs/mnist
"""

EXPECTED = (
    *(ValueError, TypeError, OSError, ImportError, FloatingPointError, EOFError),
    *(zipfile.BadZipFile, yaml.YAMLError),
)
"""Errors that are expected: wrong input, not bugs."""

DEBUG = "SLICEFLOW_DEBUG"
"""Environment variable: if set, errors are raised with their traceback."""

SMALLER = {"fit": "--n-particles", "sample": "--n", "inpaint": "--max-images", "evaluate": "--n"}
"""The option that determines how much memory a command takes."""

FIXES = {
    errno.ENOSPC: ": free some space, or write elsewhere",
    errno.ENOENT: ": check the path",
    errno.EEXIST: ": choose another path",
    errno.ENOTDIR: ": choose another path",
    errno.EACCES: ": choose another path",
}
"""How to fix errors of the operating system."""

PARAMETERS = {field.name for command in COMMANDS.values() for field in fields(command)}
"""Options of all commands, most of which have the name of a parameter of the library."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. Errors end in one line and an exit code."""
    parser = parser_of(COMMANDS, ABOUT, version("sliceflow"))
    settings = parser.parse_args(arguments)
    name = settings.subcommand
    given = settings[name]
    options = COMMANDS[name](**{field.name: given[field.name] for field in fields(COMMANDS[name])})
    warnings.showwarning = _warn
    try:
        command = importlib.import_module(f"sliceflow.cli._{name}")
        with cleaning_up():
            command.run(options)
            print(end="", flush=True)
    except BrokenPipeError:  # the reader of our output has closed it
        raise SystemExit(BROKEN_PIPE) from None
    except KeyboardInterrupt as error:  # it has arguments if a checkpoint was saved
        fix = ": add --resume to continue from the last checkpoint" if error.args else ""
        exit_with(f"sliceflow {name}: interrupted{fix}", INTERRUPTED)
    except EXPECTED as error:
        if os.environ.get(DEBUG):
            raise
        exit_with(f"sliceflow {name}: {_message(error)}", FAILED)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        fix = f": pass a smaller {SMALLER[name]}" if name in SMALLER else ""
        exit_with(f"sliceflow {name}: not enough memory{fix}", FAILED)


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    print_safely(f"warning: {_with_flags(str(message))}", sys.stderr)


def _message(error: BaseException) -> str:
    """Return the message of an error as one line."""
    if isinstance(error, OSError) and error.strerror:
        fix = FIXES.get(error.errno or 0, "")
        return f"{error.filename or ''}: {error.strerror}{fix}".lstrip(": ")
    return _with_flags(" ".join(str(error).split()) or type(error).__name__)


def _with_flags(message: str) -> str:
    """Return a message of the library with flags instead of parameters: --n-particles 2."""

    def flag(found: re.Match[str]) -> str:
        name = found[1]
        return f"--{name.replace('_', '-')} " if name in PARAMETERS else found[0]

    return re.sub(r"\b(\w+)=", flag, message)
