"""The parser of the command line: flags, YAML and `--print_config` from the commands' dataclasses.

No room of the command line imports PyTorch before a command runs: `--help` is to be quick.
"""

import argparse
import inspect
import re
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin

from jsonargparse import (  # type: ignore[attr-defined]
    ActionConfigFile,
    ArgumentParser,
    DefaultHelpFormatter,
    set_parsing_settings,
)
from jsonargparse.typing import register_type

from sliceflow._ending import WRONG_USE, end
from sliceflow._reading import near
from sliceflow._settings import read_settings
from sliceflow.cli.options import Size

NEGATIVE = re.compile(r"-\.?\d")
"""What begins a value and not a flag."""

RENAMED = {
    "--particles": "--n-particles",
    "--preset": "--schedule",
    "--seed": "--random-state",
    "--condition": "--y or --observed",
    "--given": "--y",
    "--most": "--max-images",
}
"""Options of earlier versions, and their names now."""

set_parsing_settings(add_print_completion_argument=True)
register_type(Size, serializer=list, deserializer=Size.read)


class Formatter(DefaultHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Help that keeps examples as they were written, and tells defaults but not Python's types."""

    def _get_help_string(self, action: argparse.Action) -> str:
        is_none = any(action.default is none for none in (None, False, argparse.SUPPRESS))
        told = "" if is_none or not action.option_strings else " By default %(default)s."
        return f"{action.help or ''}{told}"

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return "" if action.dest == "subcommand" else super()._format_action_invocation(action)


class Parser(ArgumentParser):
    """A parser whose errors are one line that names the fix."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=Formatter, **settings)
        self._negative_number_matcher = NEGATIVE  # argparse would take -1e3 and -1,2 for flags

    def add_argument(self, *names: Any, **settings: Any) -> Any:
        """Add an argument: with dashes, as people write it, and without a value if it is a flag."""
        if settings.get("type") is bool:
            settings = {**settings, "action": "store_true"}
            del settings["type"]
        if names[0].startswith("--") and not names[0].startswith("--print_"):
            names = tuple(name.replace("_", "-") for name in names)
        return super().add_argument(*names, **settings)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say what is wrong in one line, and end."""
        parser = getattr(ex, "subcommand_parser", None) or self
        command = re.search(r"arguments are required: (\w+)\.", message)
        prog = f"{self.prog} {command[1]}" if command else parser.prog
        end(f"{prog}: {parser._told(message)} (see {prog} --help)", WRONG_USE)

    def _told(self, message: str) -> str:
        """Return what is wrong, in one line."""
        if found := re.search(r'Parser key "([\w.]+)".*value: (.*?)(\n|$)', message, re.DOTALL):
            key, value = found[1].split(".")[-1], found[2]
            kinds = {action.dest: getattr(action, "_typehint", None) for action in self._actions}
            return f"{key} cannot be {value!r}: give {_wanted(kinds.get(key))}"
        if found := re.search(r"unrecognized arguments: (\S+)", message):
            return self._unknown(found[1])
        if found := re.search(r"does not accept option '(\w+)'", message):  # in a file
            return self._unknown(f"--{found[1].replace('_', '-')}")
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            return (
                f"there is no command {found[1]}{near(found[1], re.findall(r'[a-z]+', found[2]))}"
            )
        if found := re.search(r"arguments are required: ([\w., ]+)", message):
            return f"it needs {found[1].split('.')[-1]}"
        if found := re.search(r'expected "subcommand" to be one of {(.*)}', message):
            return f"it needs one of its commands: {found[1].replace(',', ', ')}"
        return " ".join(message.split())

    def _unknown(self, argument: str) -> str:
        """Return what is wrong with an argument that does not exist, and what may be meant."""
        name = argument.partition("=")[0]
        flags = [flag for action in self._actions for flag in action.option_strings]
        fix = f": use {RENAMED[name]}" if name in RENAMED else near(name, flags)
        return f"unknown {'option' if name.startswith('-') else 'argument'} {argument}{fix}"


class ConfigFile(ActionConfigFile):
    """The file of options, which has to be plain and small."""

    def __call__(self, parser: Any, options: Any, path: Any, flag: str | None = None) -> None:
        """Check the file before it is parsed."""
        try:
            settings = read_settings(Path(path))
        except (OSError, ValueError) as error:
            parser.error(f"{flag} {error}")
        if self.dest in settings:
            parser.error(f"{flag} {path} names another such file: write its options there instead")
        super().__call__(parser, options, path, flag)  # type: ignore[no-untyped-call]


def _wanted(kind: Any) -> str:
    """Return in words what values a type has."""
    names = {
        int: "a whole number",
        float: "a number",
        Size: "a height and a width, as 64 or 64x48",
    }
    for one in (kind, *get_args(kind)):
        if get_origin(one) is Literal:
            return f"one of {', '.join(map(str, get_args(one)))}"
        if one in names:
            return names[one]
    return "another value"


def options_of(command: type, settings: dict[str, Any]) -> Any:
    """Return the options of a command as a file of settings has them."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(command, as_group=False)
    try:
        return command(**parser.parse_object(settings).as_dict())
    except argparse.ArgumentError as error:
        raise ValueError(" ".join(str(error).split())) from error


def parser_of(commands: dict[str, type], about: str, version: str) -> Parser:
    """Return a parser with a command for each dataclass: its docstring is the help."""
    parser = Parser(prog="sliceflow", description=about, version=version)
    subcommands = parser.add_subcommands(required=True, title="commands", description=None)
    for name, command in commands.items():
        about, _, _ = (inspect.getdoc(command) or "").partition("\n\nParameters\n")
        own = Parser(description=about)
        own.add_argument("--config", action=ConfigFile, help="Read options from a YAML file.")
        own.add_class_arguments(command, as_group=False, as_positional=True)
        subcommands.add_subcommand(name, own, help=about.partition("\n")[0])
        own.prog = f"sliceflow {name}"
    return parser
