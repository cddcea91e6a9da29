"""Bad and odd uses of the command line and of Python, each with what is expected of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One use, made in a folder of its own with the files of the laboratory.

    Parameters
    ----------
    use
        The command line after ``sliceflow``, or Python code.
    refusal
        What the error must say, a regular expression. If there is none, the use must work.
    then
        Python code that checks what a command left behind.
    warning
        What the use must warn of, a regular expression.
    """

    use: str
    refusal: str = ""
    then: str = ""
    warning: str = ""
    is_python: bool = False


def python(use: str, refusal: str = "", warning: str = "") -> Case:
    """Return a use of Python: code with ``np``, ``torch``, ``pd`` and what sliceflow has."""
    return Case(use, refusal, warning=warning, is_python=True)


def product(template: str, values: dict[str, str]) -> list[Case]:
    """Return a use for each of many values in one place, ``{}``, with what each is refused for."""
    return [Case(template.replace("{}", value), refusal) for value, refusal in values.items()]
