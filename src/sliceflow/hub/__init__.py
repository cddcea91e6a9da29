"""The Hugging Face hub: models as repositories. `huggingface_hub` is imported when it is used."""
