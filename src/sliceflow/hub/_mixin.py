"""What models can do on the Hugging Face hub, without importing `huggingface_hub` before that."""

from pathlib import Path
from typing import Any, Self


class OnHub:
    """Saves a model as the Hugging Face hub has it, and loads it from there."""

    def save_pretrained(self, folder: str | Path, about: str = "", **settings: Any) -> None:
        """Write a folder as it would be on the Hugging Face hub: the model, its card, its picture.

        ``about`` is the title of the card. A card that is there already stays. The ``settings`` are
        those of huggingface_hub's `ModelHubMixin`, such as
        ``model_card_kwargs={"license": "mit"}``: metadata of the card.
        """
        from sliceflow.hub._pretrained import Pretrained

        Pretrained.of(self, about).save_pretrained(folder, **settings)

    def push_to_hub(self, repo_id: str, about: str = "", **settings: Any) -> str:
        """Send the model to a repository of the Hugging Face hub, and return the commit's address.

        ``about`` is the title of the card. The ``settings`` are those of huggingface_hub's
        `ModelHubMixin`, such as ``private``, ``token``, ``branch``, and
        ``model_card_kwargs={"license": "mit"}``: metadata of the card.
        """
        from sliceflow.hub._pretrained import Pretrained

        told = {"repo_id": repo_id} | settings.pop("model_card_kwargs", {})
        pretrained = Pretrained.of(self, about)
        address: str = pretrained.push_to_hub(repo_id, model_card_kwargs=told, **settings)
        return address

    @classmethod
    def from_pretrained(cls, repo_id: str | Path, **settings: Any) -> Self:
        """Load a model from a repository of the Hugging Face hub, or from a folder like one.

        The ``settings`` are those of huggingface_hub's `ModelHubMixin`, such as ``revision``,
        ``token`` and ``cache_dir``. `FileError` says what is wrong with the model's file.
        """
        from sliceflow.hub._pretrained import Pretrained

        model: Self = Pretrained.from_pretrained(repo_id, kind=cls, **settings).model
        return model
