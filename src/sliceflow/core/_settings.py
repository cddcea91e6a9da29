"""Settings in YAML files: only names and plain values, so that a small file stays small."""

from pathlib import Path
from typing import Any

import yaml

from sliceflow.core._reading import FileError, check_file, reading

MAX_BYTES = 2**16
"""Maximum size of a settings file: far more than anyone writes."""

MAX_DEPTH = 8
"""Maximum depth of nested lists: far more than anyone needs."""


def read_settings(path: Path) -> dict[str, Any]:
    """Read a YAML file of names and values."""
    size = check_file(path).stat().st_size
    if size > MAX_BYTES:
        raise FileError(
            f"{path} is too large for settings ({size} bytes): pass a YAML file of options"
        )
    with reading(path, "YAML file"):
        text = path.read_text(encoding="utf-8")
        _check_plain(path, text)
        settings = yaml.safe_load(text)
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise FileError(f"{path} has no settings: write one per line, such as schedule: quick")
    return settings


def _check_plain(path: Path, text: str) -> None:
    """Refuse deep nesting, and aliases, which can expand a small file to a huge one."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > MAX_DEPTH:
            raise FileError(f"{path} has aliases or deep lists: write plain values")
