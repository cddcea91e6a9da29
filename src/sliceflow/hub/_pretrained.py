"""Models as repositories of the Hugging Face hub. Needs huggingface_hub.

model.zip        the model: the file that `save` writes
README.md        its card, with the hub's metadata
samples.png      the picture of the card, if the model has images
config.json      the format and the version of the file; the hub counts its downloads
"""

import json
from pathlib import Path
from typing import Any, Self
from zipfile import ZipFile

from sliceflow.files._archive import CARD, PICTURE

try:
    from huggingface_hub import ModelCard, ModelCardData, ModelHubMixin, hf_hub_download
except ImportError as missing:
    raise ImportError('the hub needs huggingface_hub: pip install "sliceflow[hub]"') from missing

FILE, CONFIG = "model.zip", "config.json"


class Pretrained(
    ModelHubMixin, library_name="sliceflow", tags=["optimal-transport", "sliced-wasserstein"]
):
    """A model, with the methods of huggingface_hub's mixin."""

    model: Any
    about: str = ""

    def __init__(self) -> None:
        """Take nothing: the mixin would copy it, and pass on what a repository's config says."""

    @classmethod
    def of(cls, model: Any, about: str = "") -> Self:
        """Return a model with these methods."""
        made = cls()
        made.model, made.about = model, about
        return made

    def _save_pretrained(self, save_directory: Path) -> None:
        self.model.save(save_directory / FILE, about=self.about)
        with ZipFile(save_directory / FILE) as parts:
            config = json.loads(parts.read(CONFIG))
            self._card = parts.read(CARD).decode()
            if PICTURE in parts.namelist():
                parts.extract(PICTURE, save_directory)
        told = {name: config[name] for name in ("format", "version")}
        (save_directory / CONFIG).write_text(json.dumps(told, indent=1))

    def generate_model_card(self, *, repo_id: str = "", **metadata: Any) -> ModelCard:
        """Return the model's own card with the hub's metadata, and how to load it from there."""
        known: dict[str, Any] = self._hub_mixin_info.model_card_data.to_dict()  # type: ignore[no-untyped-call]
        data = ModelCardData(**known | metadata)
        kind = type(self.model).__name__
        call = f'{kind}.from_pretrained("{repo_id}")'
        use = f"\nFrom the hub:\n\n    from sliceflow import {kind}\n    model = {call}\n"
        return ModelCard(f"---\n{data.to_yaml()}\n---\n\n{self._card}{use if repo_id else ''}")

    @classmethod
    def _from_pretrained(cls, *, model_id: str, kind: Any = None, **settings: Any) -> Self:
        folder = Path(model_id)
        path = folder / FILE if folder.is_dir() else hf_hub_download(model_id, FILE, **settings)
        return cls.of(kind.load(path))
