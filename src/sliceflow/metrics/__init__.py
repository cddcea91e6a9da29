"""Metrics: distances between samples and data, calibration, and a classifier to judge samples."""

from sliceflow.metrics._calibration import calibration_ranks, crps, interval_coverage
from sliceflow.metrics._classifier import Classifier
from sliceflow.metrics._frechet import Statistics, frechet_distance, kernel_distance
from sliceflow.metrics._inception import Inception, reference_features
from sliceflow.metrics._likeness import Likeness, likeness
from sliceflow.metrics._neighbours import (
    Coverage,
    detail_correlation,
    nearest,
    precision_and_recall,
)
from sliceflow.metrics._sliced import sliced_wasserstein

__all__ = [
    "Classifier",
    "Coverage",
    "Inception",
    "Likeness",
    "Statistics",
    "calibration_ranks",
    "crps",
    "detail_correlation",
    "frechet_distance",
    "interval_coverage",
    "kernel_distance",
    "likeness",
    "nearest",
    "precision_and_recall",
    "reference_features",
    "sliced_wasserstein",
]
