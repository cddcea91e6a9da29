"""Metrics: distances between samples and data, and a classifier to judge samples."""

from sliceflow.metrics.classifier import Classifier
from sliceflow.metrics.frechet import Statistics, frechet_distance, kernel_distance
from sliceflow.metrics.inception import Inception, reference_features
from sliceflow.metrics.likeness import Likeness, likeness
from sliceflow.metrics.neighbours import Coverage, nearest, precision_and_recall
from sliceflow.metrics.sliced import sliced_wasserstein

__all__ = [
    "Classifier",
    "Coverage",
    "Inception",
    "Likeness",
    "Statistics",
    "frechet_distance",
    "kernel_distance",
    "likeness",
    "nearest",
    "precision_and_recall",
    "reference_features",
    "sliced_wasserstein",
]
