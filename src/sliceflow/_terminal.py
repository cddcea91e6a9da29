"""What is printed for people. Much of it comes from files, which may be anyone's."""

import sys
from typing import TextIO


def say(text: str, file: TextIO | None = None) -> None:
    """Print text in which nothing can steer a terminal: what is not printable is escaped."""
    print("".join(map(_shown, text)), file=file or sys.stdout)


def _shown(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return character.encode("unicode_escape").decode()


def counted(n: int, thing: str) -> str:
    """Return that there are n of something: "1 sample is", "2 samples are"."""
    return f"{n} {thing} is" if n == 1 else f"{n} {thing}s are"
