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

from sliceflow._ending import BROKEN_PIPE, FAILED, INTERRUPTED, end
from sliceflow._interrupts import cleaning_up
from sliceflow._terminal import say
from sliceflow.cli.options import Bench, Evaluate, Fit, Info, Inpaint, Reproduce, Sample
from sliceflow.cli.parser import parser_of

COMMANDS = {
    "fit": Fit,
    "sample": Sample,
    "inpaint": Inpaint,
    "evaluate": Evaluate,
    "info": Info,
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
"""What may go wrong without being a fault of the program."""

DEBUG = "SLICEFLOW_DEBUG"
"""If this is set in the environment, errors come with where they happened."""

SMALLER = {"fit": "--n-particles", "sample": "--n", "inpaint": "--max-images", "evaluate": "--n"}
"""What decides how much memory a command takes."""

FIXES = {
    errno.ENOSPC: ": free some, or write elsewhere",
    errno.ENOENT: ": check the path",
    errno.EEXIST: ": choose another path",
    errno.ENOTDIR: ": choose another path",
    errno.EACCES: ": choose another path",
}

PARAMETERS = {field.name for command in COMMANDS.values() for field in fields(command)}
"""Options of all commands, most of which have the name of a parameter of the library."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. What goes wrong ends in one line and an exit code."""
    parser = parser_of(COMMANDS, ABOUT, version("sliceflow"))
    settings = parser.parse_args(arguments)
    name = settings.subcommand
    given = settings[name]
    options = COMMANDS[name](**{field.name: given[field.name] for field in fields(COMMANDS[name])})
    warnings.showwarning = _warn
    try:
        command = importlib.import_module(f"sliceflow.cli.{name}")
        with cleaning_up():
            command.run(options)
            print(end="", flush=True)
    except BrokenPipeError:  # whoever read what is printed has enough
        raise SystemExit(BROKEN_PIPE) from None
    except KeyboardInterrupt as error:  # which says so if the state was saved
        fix = ": add --resume to go on from the last checkpoint" if error.args else ""
        end(f"sliceflow {name}: interrupted{fix}", INTERRUPTED)
    except EXPECTED as error:
        if os.environ.get(DEBUG):
            raise
        end(f"sliceflow {name}: {_told(error)}", FAILED)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        fix = f": pass a smaller {SMALLER[name]}" if name in SMALLER else ""
        end(f"sliceflow {name}: it does not fit in memory{fix}", FAILED)


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    say(f"warning: {_with_flags(str(message))}", sys.stderr)


def _told(error: BaseException) -> str:
    """Return an error as one line."""
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
