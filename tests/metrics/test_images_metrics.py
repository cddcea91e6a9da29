"""Metrics of images against other people's code, and against what they must be by definition."""

import numpy as np
import pytest
import scipy.linalg
import torch
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import polynomial_kernel
from torchmetrics.image.fid import FrechetInceptionDistance

from sliceflow.data import data_folder
from sliceflow.metrics import (
    Classifier,
    Inception,
    Statistics,
    detail_correlation,
    frechet_distance,
    kernel_distance,
    nearest,
    precision_and_recall,
    reference_features,
)
from sliceflow.metrics._inception import resize_matrix

WEIGHTS = data_folder() / "inception" / "inception_pool3.pt"
needs_weights = pytest.mark.skipif(not WEIGHTS.exists(), reason=f"no network in {WEIGHTS.parent}")


def features(n, d=16, seed=0, shift=0.0):
    return np.random.default_rng(seed).gamma(2, size=(n, d)).astype(np.float32) + shift


def test_frechet_distance_is_that_of_the_definition():
    a, b = Statistics.of(features(300)), Statistics.of(features(200, seed=1, shift=0.3) * 1.5)
    root = scipy.linalg.sqrtm(a.covariance @ b.covariance).real
    expected = np.square(a.mean - b.mean).sum()
    expected += np.trace(a.covariance + b.covariance - 2 * root)
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-9)
    assert frechet_distance(a, a) == pytest.approx(0, abs=1e-9)
    assert frechet_distance(a, b) == pytest.approx(frechet_distance(b, a))


def test_frechet_distance_with_fewer_images_than_features():
    a, b = Statistics.of(features(10)), Statistics.of(features(10, seed=1))
    assert 0 < frechet_distance(a, b) < np.inf
    few, many = Statistics.of(features(10)), Statistics.of(features(300, seed=1))
    assert frechet_distance(few, many) == pytest.approx(frechet_distance(many, few), rel=1e-6)
    assert frechet_distance(few, few) == pytest.approx(0, abs=1e-6)


class Averages(torch.nn.Module):
    """A feature network for torchmetrics: 48 averages of an image."""

    def forward(self, x):
        return torch.nn.functional.adaptive_avg_pool2d(x.double(), 4).flatten(1)


def test_frechet_distance_is_that_of_torchmetrics():
    rng = np.random.default_rng(0)
    real, fake = (rng.integers(256, size=(500, 3, 16, 16), dtype=np.uint8) for _ in range(2))
    fake //= 2
    fid = FrechetInceptionDistance(feature=Averages(), input_img_size=(3, 16, 16)).double()
    sets = []
    for pixels, is_real in ((real, True), (fake, False)):
        fid.update(torch.from_numpy(pixels), real=is_real)
        sets.append(Averages()(torch.from_numpy(pixels)).numpy())
    ours = frechet_distance(*map(Statistics.of, sets))
    assert ours == pytest.approx(float(fid.compute()), rel=1e-6)


def test_kernel_distance_is_an_unbiased_mmd():
    x, y = features(50), features(50, seed=1, shift=0.2)
    xx, yy, xy = (polynomial_kernel(a, b, degree=3) for a, b in ((x, x), (y, y), (x, y)))
    inside = (xx.sum() - np.trace(xx) + yy.sum() - np.trace(yy)) / (50 * 49)
    ours = kernel_distance(x, y, subsets=3, size=50)
    assert ours == pytest.approx(inside - 2 * xy.mean(), rel=1e-4)
    assert abs(kernel_distance(features(2000), features(2000, seed=1))) < 0.05 * ours


@pytest.mark.parametrize("n", [1, 20, 2500])
def test_nearest(n):
    x, data = features(n), features(1200, seed=1)
    distance, number = nearest(x, data, k=3)
    expected = np.sort(pairwise_distances(x, data), axis=1)[:, :3]
    assert distance == pytest.approx(expected, abs=1e-4)
    assert np.linalg.norm(data[number] - x[:, None], axis=2) == pytest.approx(distance, abs=1e-4)


def test_nearest_of_images_of_bytes():
    pixels = np.random.default_rng(0).integers(256, size=(30, 3, 4, 4), dtype=np.uint8)
    distance, number = nearest(pixels[::-1], pixels)
    assert number[:, 0].tolist() == list(range(29, -1, -1))
    assert distance == pytest.approx(0, abs=1)  # squares of bytes, in float32


def test_precision_and_recall():
    data, same, far = features(500), features(500, seed=1), features(500, shift=100.0)
    alike, other = precision_and_recall(same, data), precision_and_recall(far, data)
    assert min(alike.precision, alike.recall) > 0.6
    assert (other.precision, other.recall) == (0, 0)
    one_mode = precision_and_recall(data[:1] + 0.01 * features(500, seed=2), data)
    assert one_mode.precision > 0.9
    assert one_mode.recall < 0.1


def test_resizing_takes_the_first_pixel_to_the_first():
    """What TensorFlow 1 did: pixel i of 299 is at i n/299, and beyond the last one stays there."""
    matrix = resize_matrix(32)
    assert matrix.sum(dim=1) == pytest.approx(1)
    line = matrix @ torch.arange(32.0)
    assert line == pytest.approx(np.minimum(np.arange(299) * 32 / 299, 31), abs=1e-5)


def bars(n, seed):
    """Draw images of one of two kinds: bars that stand, bars that lie."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    lines = rng.integers(256, size=(n, 1, 1, 16)).repeat(16, axis=2)
    pixels = np.where(labels[:, None, None, None] == 1, lines, lines.transpose(0, 1, 3, 2))
    return pixels.astype(np.uint8), labels


def test_the_classifier_learns_and_is_the_same_each_time():
    pixels, labels = bars(600, seed=0)
    unseen, truth = bars(200, seed=1)
    state = torch.get_rng_state()
    first, second = (Classifier().fit(pixels, labels).predict(unseen) for _ in range(2))
    assert (first == truth).mean() > 0.95
    assert (first == second).all()
    assert (torch.get_rng_state() == state).all()


@needs_weights
def test_features():
    """Grey images are the same as colour images that are grey; a batch does not matter."""
    rng = np.random.default_rng(0)
    grey = rng.integers(256, size=(3, 1, 28, 28), dtype=np.uint8)
    inception = Inception()
    of_grey, of_colour = inception(grey), inception(grey.repeat(3, axis=1)[:2])
    assert of_grey.shape == (3, 2048)
    assert of_grey[:2] == pytest.approx(of_colour, abs=1e-4)


@needs_weights
def test_reference_features_are_made_once(tmp_path):
    pixels = np.random.default_rng(0).integers(256, size=(2, 3, 8, 8), dtype=np.uint8)
    inception = Inception()
    first = reference_features(pixels, inception, tmp_path)
    (file,) = tmp_path.iterdir()
    changed = file.stat().st_mtime_ns
    assert (reference_features(pixels, inception, tmp_path) == first).all()
    assert file.stat().st_mtime_ns == changed
    reference_features(pixels[::-1], inception, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@needs_weights
@pytest.mark.slow
def test_fast_features_are_near():
    pytest.importorskip("openvino")
    rng = np.random.default_rng(0)
    smooth = (
        rng.integers(256, size=(50, 3, 4, 4), dtype=np.uint8).repeat(8, axis=2).repeat(8, axis=3)
    )
    exact, fast = Inception()(smooth), Inception(fast=True)(smooth)
    assert np.abs(fast - exact).mean() < 0.02 * exact.std()


def test_bytes_are_asked_for():
    inception = object.__new__(Inception)
    with pytest.raises(ValueError, match="pass uint8 of shape"):
        inception(np.zeros((1, 3, 8, 8)))


def test_detail_correlates_whatever_brightness_contrast_and_large_shapes_are():
    images = np.random.default_rng(0).integers(60, 200, size=(50, 3, 8, 8)).astype(np.uint8)
    shapes = np.kron([[1, 0], [0, 1]], np.ones((4, 4)))
    changed = 0.5 * images[7:9] + 20 * shapes
    assert detail_correlation(changed, images) == pytest.approx([1, 1], abs=1e-4)
    half = detail_correlation((images[7:8] + images[8:9].astype(float)) / 2, images)
    assert half == pytest.approx([0.7], abs=0.05)
    others = np.random.default_rng(1).integers(256, size=(5, 3, 8, 8))
    assert detail_correlation(others, images).max() < 0.4
