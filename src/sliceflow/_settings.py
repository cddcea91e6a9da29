"""Settings in YAML files: names with plain values, so that a file costs no more than its size."""

from pathlib import Path
from typing import Any

import yaml

from sliceflow._reading import FileError, check_file, reading

LARGEST = 2**16
"""Bytes of a file of settings: far more than anyone writes."""

DEEPEST = 8
"""Levels of lists in lists: far more than anyone needs."""


def read_settings(path: Path) -> dict[str, Any]:
    """Read a YAML file of names and values."""
    size = check_file(path).stat().st_size
    if size > LARGEST:
        raise FileError(f"{path} has {size} bytes, too many for settings: name a YAML file of them")
    with reading(path, "YAML file"):
        text = path.read_text(encoding="utf-8")
        _check_plain(path, text)
        settings = yaml.safe_load(text)
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise FileError(f"{path} holds no settings: write one in each line, as in schedule: quick")
    return settings


def _check_plain(path: Path, text: str) -> None:
    """Refuse aliases, by which a small file can stand for a huge one, and deep nesting."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > DEEPEST:
            raise FileError(f"{path} has aliases or deep lists: write plain values")
