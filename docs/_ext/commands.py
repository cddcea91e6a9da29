"""Puts the help of every command where a page has `<!-- commands -->`."""

import argparse
import re
from textwrap import dedent

from sphinx.application import Sphinx

from sliceflow.cli import _options as options
from sliceflow.cli._main import ABOUT, COMMANDS
from sliceflow.cli._parser import Parser, parser_of

MARK = "<!-- commands -->"
SHARED = ("config", "print_config")
"""Options that every command has; they are listed last."""


def add_commands(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the mark in the source of a page by the help."""
    if MARK in source[0]:
        app.env.note_dependency(options.__file__, docname=page)
        source[0] = source[0].replace(MARK, all_help(app.config.release))


def all_help(version: str) -> str:
    """Return the output of `sliceflow --help` and of each command's help, as Markdown."""
    top = parser_of(COMMANDS, ABOUT, version)
    commands = [parser for action in top._actions for parser in (action.choices or {}).values()]
    sections = [f"## {parser.prog}\n\n{help_of(parser)}" for parser in commands]
    return "\n\n".join([help_of(top), *sections])


def help_of(parser: Parser) -> str:
    """Return the description of a command, its examples and its options."""
    about = re.sub(r"(?:^  .*\n?)+", code_block, parser.description or "", flags=re.MULTILINE)
    actions = [action for action in parser._actions if action.help and action.dest != "help"]
    actions.sort(key=lambda action: (bool(action.option_strings), action.dest in SHARED))
    options = [option(parser, action) for action in actions]
    return "\n\n".join([about, f"```{{program}} {parser.prog}\n```", *options])


def code_block(lines: re.Match[str]) -> str:
    """Return indented lines as a block of code."""
    return f"\n```sh\n{dedent(lines[0]).strip()}\n```\n"


def option(parser: Parser, action: argparse.Action) -> str:
    """Return the name of an option, its description and its default."""
    value = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    name = " ".join([*action.option_strings, value]) if action.option_strings else action.dest
    about = parser._get_formatter()._expand_help(action)
    flags_as_code = re.sub(r"--[\w-]+", r"`\g<0>`", about)
    return f"```{{option}} {name}\n{flags_as_code}\n```"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", add_commands)
    return {"parallel_read_safe": True}
