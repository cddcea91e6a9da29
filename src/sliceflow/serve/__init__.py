"""The HTTP server: samples of models that are loaded once. See `cli/_serve.py`."""
