"""Distances between samples."""

from sliceflow.metrics.sliced import sliced_wasserstein

__all__ = ["sliced_wasserstein"]
