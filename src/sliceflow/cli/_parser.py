"""The command-line parser: flags, YAML and `--print_config`, made from the commands' dataclasses.

Nothing here imports PyTorch, so that `--help` is fast.
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

from sliceflow.cli._options import Size
from sliceflow.core._exits import WRONG_USE, exit_with
from sliceflow.core._reading import did_you_mean
from sliceflow.core._settings import read_settings

NEGATIVE = re.compile(r"-\.?\d")
"""Start of a negative number, which is a value and not a flag."""

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
    """Help that keeps the line breaks of examples, and shows defaults but no Python types."""

    def _get_help_string(self, action: argparse.Action) -> str:
        is_none = any(action.default is none for none in (None, False, argparse.SUPPRESS))
        default = "" if is_none or not action.option_strings else " By default %(default)s."
        return f"{action.help or ''}{default}"

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return "" if action.dest == "subcommand" else super()._format_action_invocation(action)


class Parser(ArgumentParser):
    """A parser whose errors are one line that names the fix."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=Formatter, **settings)
        self._negative_number_matcher = NEGATIVE  # argparse would take -1e3 and -1,2 for flags

    def add_argument(self, *names: Any, **settings: Any) -> Any:
        """Add an argument, with dashes instead of underscores; booleans take no value."""
        if settings.get("type") is bool:
            settings = {**settings, "action": "store_true"}
            del settings["type"]
        if getattr(settings.get("action"), "_typehint", None) == list[Path]:
            settings = {**settings, "type": Path, "nargs": "+"}  # as words, not as one list
            del settings["action"]
        if names[0].startswith("--") and not names[0].startswith("--print_"):
            names = tuple(name.replace("_", "-") for name in names)
        return super().add_argument(*names, **settings)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Print what is wrong in one line, and exit."""
        parser = getattr(ex, "subcommand_parser", None) or self
        command = re.search(r"arguments are required: (\w+)\.", message)
        prog = f"{self.prog} {command[1]}" if command else parser.prog
        exit_with(f"{prog}: {parser._explain(message)} (see {prog} --help)", WRONG_USE)

    def _explain(self, message: str) -> str:
        """Return a message of jsonargparse in plain words, as one line."""
        if found := re.search(r'Parser key "([\w.]+)".*value: (.*?)(\n|$)', message, re.DOTALL):
            key, value = found[1].split(".")[-1], found[2]
            kinds = {action.dest: getattr(action, "_typehint", None) for action in self._actions}
            return f"{key} cannot be {value!r}: pass {_wanted(kinds.get(key))}"
        if found := re.search(r"unrecognized arguments: (\S+)", message):
            return self._unknown(found[1])
        if found := re.search(r"does not accept option '(\w+)'", message):  # in a file
            return self._unknown(f"--{found[1].replace('_', '-')}")
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            commands = re.findall("[a-z]+", found[2])
            return f"unknown command {found[1]}{did_you_mean(found[1], commands)}"
        if found := re.search(r"arguments are required: ([\w., ]+)", message):
            return f"missing argument: {found[1].split('.')[-1]}"
        if found := re.search(r'expected "subcommand" to be one of {(.*)}', message):
            return f"missing command: pass one of {found[1].replace(',', ', ')}"
        return " ".join(message.split())

    def _unknown(self, argument: str) -> str:
        """Return the message for an unknown argument, with the name that was probably meant."""
        name = argument.partition("=")[0]
        flags = [flag for action in self._actions for flag in action.option_strings]
        fix = f": use {RENAMED[name]}" if name in RENAMED else did_you_mean(name, flags)
        return f"unknown {'option' if name.startswith('-') else 'argument'} {argument}{fix}"


class ConfigFile(ActionConfigFile):
    """The `--config` option: a file of options, which has to be plain and small."""

    def __call__(self, parser: Any, options: Any, path: Any, flag: str | None = None) -> None:
        """Check the file before it is parsed."""
        try:
            settings = read_settings(Path(path))
        except (OSError, ValueError) as error:
            parser.error(f"{flag} {error}")
        if self.dest in settings:
            parser.error(
                f"{flag} {path} contains another --config: copy its options into this file instead"
            )
        super().__call__(parser, options, path, flag)  # type: ignore[no-untyped-call]


def _wanted(kind: Any) -> str:
    """Return in words which values a type accepts."""
    names = {
        int: "a whole number",
        float: "a number",
        Size: "a height and a width, such as 64 or 64x48",
    }
    for one in (kind, *get_args(kind)):
        if get_origin(one) is Literal:
            return f"one of {', '.join(map(str, get_args(one)))}"
        if one in names:
            return names[one]
    return "another value"


def options_of(command: type, settings: dict[str, Any]) -> Any:
    """Return the options of a command from a dictionary of settings."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(command, as_group=False)
    try:
        return command(**parser.parse_object(settings).as_dict())
    except argparse.ArgumentError as error:
        raise ValueError(" ".join(str(error).split())) from error


def parser_of(commands: dict[str, type], about: str, version: str) -> Parser:
    """Return a parser with a subcommand for each dataclass; its docstring is the help."""
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
