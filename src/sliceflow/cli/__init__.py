"""The command line: `sliceflow --help` says what it does."""

from sliceflow.cli._main import COMMANDS, main

__all__ = ["COMMANDS", "main"]
