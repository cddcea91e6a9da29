"""Printing to a terminal. Much of the text comes from files, which may be malicious."""

import sys
from typing import TextIO


def print_safely(text: str, file: TextIO | None = None) -> None:
    """Print text with unprintable characters escaped, so that it cannot control the terminal."""
    print("".join(map(_escaped, text)), file=file or sys.stdout)


def _escaped(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return character.encode("unicode_escape").decode()


def plural(n: int, noun: str) -> str:
    """Return a number with its noun: "1 sample", "2 samples"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
