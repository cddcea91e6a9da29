"""Models on a Hugging Face hub: the same samples after a push and a load, without the internet."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hub.local_hub import local_hub
from huggingface_hub import ModelCard
from mixed_table import mixed

from sliceflow import FileError, Model, SlicedFlow, SlicedTable, Stage, TableModel

IMAGES = np.random.default_rng(0).integers(256, size=(40, 1, 4, 4), dtype=np.uint8)
FLOW = SlicedFlow(schedule=(Stage(2, 4),), random_state=0).fit(IMAGES).model_
TABLE = SlicedTable(random_state=0).fit(mixed(60)).model_
MODELS = pytest.mark.parametrize("model", [FLOW, TABLE], ids=["flow", "table"])


def equal(a, b):
    return a.equals(b) if hasattr(a, "equals") else np.array_equal(a, b)


@MODELS
def test_a_folder_holds_the_same_model(model, tmp_path):
    model.save_pretrained(tmp_path, about="Mine")
    again = type(model).from_pretrained(tmp_path)
    assert type(again) is type(model)
    assert equal(again.sample(5, random_state=1), model.sample(5, random_state=1))
    has_picture = model is FLOW
    names = {"README.md", "config.json", "model.zip"} | ({"samples.png"} if has_picture else set())
    assert set(os.listdir(tmp_path)) == names
    card = ModelCard.load(tmp_path / "README.md")
    assert card.data.library_name == "sliceflow"
    assert "# Mine" in card.text
    model.save(tmp_path / "again.zip", about="Mine")
    assert (tmp_path / "model.zip").read_bytes() == (tmp_path / "again.zip").read_bytes()


def test_the_licence_is_the_users(tmp_path):
    FLOW.save_pretrained(tmp_path / "none")
    assert ModelCard.load(tmp_path / "none" / "README.md").data.license is None
    FLOW.save_pretrained(tmp_path / "some", model_card_kwargs={"license": "mit"})
    assert ModelCard.load(tmp_path / "some" / "README.md").data.license == "mit"


def test_a_card_that_was_edited_stays(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    FLOW.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"


PUSH = """
import sys
from sliceflow import load
print(load(sys.argv[1]).push_to_hub("me/model", "Mine", model_card_kwargs={"license": "mit"}))
"""
PULL = """
import sys, sliceflow
kind = getattr(sliceflow, sys.argv[1])
kind.from_pretrained("me/model").save(sys.argv[2], about="Mine")
kind.from_pretrained("me/model", local_files_only=True)
"""


def run(code, *arguments, address, place):
    """Run code in a process of its own: huggingface_hub reads the hub's address when imported."""
    environment = os.environ | {
        **{"HF_ENDPOINT": address, "HF_HOME": str(place), "HF_TOKEN": "hf_none"},
        **{"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"},
    }
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@MODELS
def test_a_push_and_a_load_over_http(model, tmp_path):
    files, path = {}, tmp_path / "model.zip"
    model.save(path, about="Mine")
    with local_hub(files) as address:
        url = run(PUSH, path, address=address, place=tmp_path / "sender")
        kind, again = type(model).__name__, tmp_path / "again.zip"
        run(PULL, kind, again, address=address, place=tmp_path / "receiver")
    assert url.startswith(f"{address}/me/model")
    assert files["model.zip"] == path.read_bytes() == again.read_bytes()
    card = ModelCard(files["README.md"].decode())
    assert card.data.license == "mit"
    assert f'{kind}.from_pretrained("me/model")' in card.text


@pytest.mark.parametrize("damage", [b"", b"PK", None], ids=["empty", "no zip", "one byte"])
def test_a_file_from_a_hub_is_checked_as_any_other(damage, tmp_path):
    FLOW.save_pretrained(tmp_path)
    path = tmp_path / "model.zip"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(bytes(data) if damage is None else damage)
    with pytest.raises(FileError, match=r"model.zip cannot be used"):
        Model.from_pretrained(tmp_path)


def test_a_model_of_another_kind_is_refused(tmp_path):
    TABLE.save_pretrained(tmp_path)
    with pytest.raises(FileError, match="pass another file"):
        Model.from_pretrained(tmp_path)
    assert isinstance(TableModel.from_pretrained(tmp_path), TableModel)


def test_the_config_of_a_repository_sets_nothing(tmp_path):
    """The mixin passes on what it finds there: an address to send the token to, for example."""
    FLOW.save_pretrained(tmp_path / "good")
    files = {path.name: path.read_bytes() for path in (tmp_path / "good").iterdir()}
    files["config.json"] = b'{"endpoint": "http://127.0.0.1:9", "kind": "x", "about": "x"}'
    with local_hub(files) as address:
        run(PULL, "Model", tmp_path / "model.zip", address=address, place=tmp_path)
    assert (tmp_path / "model.zip").exists()


def test_a_folder_without_a_model(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(FileNotFoundError):
        Model.from_pretrained(tmp_path)


def test_huggingface_hub_is_imported_only_when_used():
    code = "import sys, sliceflow; sliceflow.Model; assert 'huggingface_hub' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_extra_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.delitem(sys.modules, "sliceflow.hub._pretrained", raising=False)
    with pytest.raises(ImportError, match=r"sliceflow\[hub\]"):
        FLOW.save_pretrained(tmp_path)
