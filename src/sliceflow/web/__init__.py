"""A page that samples a model in the browser: static files, and a smaller copy of the model."""

from sliceflow.web._export import MAX_MEGABYTES, can_be_sampled, export_page

__all__ = ["MAX_MEGABYTES", "can_be_sampled", "export_page"]
