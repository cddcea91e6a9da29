"""The README's code runs as it stands."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_python_blocks_run(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names = {}
    exec(block, names)
    mean = names["samples"].mean(axis=0)
    assert abs(mean - [4, -4]).max() < 0.3
    assert capsys.readouterr().out


def test_commands_name_files_that_exist():
    commands = re.findall(r"python (examples/\w+\.py)", README)
    assert commands
    for file in commands:
        assert (Path(__file__).parents[1] / file).exists()
