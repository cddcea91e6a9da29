"""Pictures: every image is where it should be."""

import numpy as np
import pytest
from PIL import Image

from sliceflow import viz

PIXELS = np.random.default_rng(0).integers(256, size=(12, 3, 6, 5), dtype=np.uint8)


def test_a_grid_ends_in_white():
    table = viz.grid(PIXELS, columns=5)
    assert table.shape == (3, 5, 3, 6, 5)
    assert (table[2, 2:] == 255).all()
    assert (table[1, 2] == PIXELS[7]).all()
    assert viz.grid(PIXELS, columns=20).shape == (1, 12, 3, 6, 5)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("zoom", [1, 3])
def test_drawing_shows_each_image(channels, zoom):
    table = viz.grid(PIXELS[:, :channels], columns=4)
    picture = viz.draw(table, zoom)
    assert picture.size == (zoom * (4 * 7 - 2), zoom * (3 * 8 - 2))
    pixels = np.asarray(picture.convert("RGB"))[::zoom, ::zoom]
    shown = pixels[8:14, 14:19].transpose(2, 0, 1)
    assert (shown == table[1, 2]).all()


def test_class_rows():
    labels = np.arange(12) % 3
    table = viz.class_rows(PIXELS, labels, columns=2)
    assert (table[1] == PIXELS[[1, 4]]).all()


def test_named_rows_have_all_images_of_a_class():
    labels = np.array(["b"] * 5 + ["a"] * 7)
    table, names = viz.named_rows(PIXELS, labels, columns=4)
    assert names == ["a", "", "b", ""]
    assert table.shape == (4, 4, 3, 6, 5)
    assert (table[0] == PIXELS[5:9]).all()
    assert (table[3, 0] == PIXELS[4]).all()
    assert (table[3, 1:] == 255).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_names_stand_to_the_left_of_their_rows(channels):
    table = viz.grid(PIXELS[:, :channels], columns=4)
    plain = viz.draw(table, zoom=4)
    named = viz.draw(table, 4, ["one", "", "a name that is much too long to be shown"])
    assert named.height == plain.height
    margin = named.width - plain.width
    assert 50 < margin < 250
    assert (np.asarray(named)[:, margin:] == np.asarray(plain)).all()
    ink = (np.asarray(named.convert("L"))[:, :margin] < 128).any(axis=1)
    first, second, third = np.array_split(ink[:96], 3)
    assert first.any()
    assert not second.any()
    assert third.any()


@pytest.mark.parametrize("name", ["", "two\nlines", "猫", "\udcff", "\0", "n" * 1000])
def test_any_name_can_be_drawn(name):
    assert viz.draw(viz.grid(PIXELS, columns=12), 1, [name]).height == 6


def test_evolution_goes_from_left_to_right():
    table = viz.evolution([PIXELS, 255 - PIXELS], rows=3)
    assert table.shape == (3, 2, 3, 6, 5)
    assert (table[2, 1] == 255 - PIXELS[2]).all()


def test_triptych():
    mask = np.zeros((3, 6, 5), bool)
    mask[..., :2] = True
    table = viz.triptych(PIXELS[:4], mask, np.stack([PIXELS[4:8], PIXELS[8:]], axis=1))
    assert table.shape == (4, 4, 3, 6, 5)
    assert (table[:, 0, ..., :2] == PIXELS[:4, ..., :2]).all()
    assert (table[:, 0, ..., 2:] == 128).all()
    assert (table[:, -1] == PIXELS[:4]).all()


def test_neighbours_follow_their_sample():
    table = viz.neighbours(PIXELS[:2], PIXELS[2:8].reshape(2, 3, 3, 6, 5))
    assert (table[:, 0] == PIXELS[:2]).all()
    assert (table[1, 1] == PIXELS[5]).all()


def test_a_film_has_all_frames(tmp_path):
    viz.save_gif([PIXELS, 255 - PIXELS, PIXELS // 2], tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == 3
