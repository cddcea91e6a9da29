"""What notebooks show: facts and pictures, quickly, and nothing that data could inject."""

import io
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import torch
from mixed_table import mixed
from PIL import Image

import sliceflow
from sliceflow import Run, SlicedFlow, SlicedImputer, SlicedTable, Stage
from sliceflow.files import _archive
from sliceflow.notebook._panel import Panel
from sliceflow.notebook._rows import MAX_COLUMNS, Rows, as_text, plot_values

EVIL = '"><script>alert(1)</script>'
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(256, size=(60, 1, 6, 6), dtype=np.uint8)
LABELS = np.array(["cat", EVIL])[np.arange(60) % 2]
STAGES = (Stage(2, 6, 3),)


class Tags(HTMLParser):
    """The tags of HTML, and the addresses that it loads."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.addresses, self.text = set(), [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        assert not any(name.startswith("on") for name, _ in attributes)
        self.tags.add(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def flow(x=IMAGES, y=None, **settings):
    return SlicedFlow(schedule=STAGES, n_particles=60, random_state=0, **settings).fit(x, y)


def evil_table():
    return pd.DataFrame({EVIL: [EVIL, "b"] * 20, "x": np.arange(40.0)})


def numbers(names=("a", EVIL)):
    return pd.DataFrame(RNG.normal(size=(60, 2)), columns=list(names))


def shown():
    """Return one of everything that a notebook shows, made of data with malicious text."""
    table = pd.DataFrame({EVIL: RNG.normal(size=60), "b": RNG.normal(size=60)})
    by_label = SlicedFlow(schedule=3, random_state=0).fit(table, pd.Series(LABELS, name=EVIL))
    by_numbers = SlicedFlow(schedule=3, random_state=0).fit(table, numbers())
    with_gaps = evil_table()
    with_gaps.loc[:3, EVIL] = None
    rows = SlicedTable(random_state=0).fit(evil_table())
    return {
        "images": flow(y=LABELS),
        "images, model": flow(y=LABELS).model_,
        "halves": flow(observed="left").model_,
        "floats": flow(IMAGES / 128.0 - 1),
        "tensors": flow(torch.from_numpy(IMAGES)),
        "many channels": flow(np.repeat(IMAGES, 5, axis=1)),
        "table by label": by_label,
        "table by numbers": by_numbers,
        "samples": by_label.show(),
        "rows": rows,
        "rows, model": rows.model_,
        "sampled rows": rows.show(),
        "imputer": SlicedImputer(random_state=0).fit(with_gaps),
        "no run": Run(f"/nowhere/{EVIL}"),
    }


SHOWN = shown()


@pytest.mark.parametrize("thing", SHOWN.values(), ids=SHOWN)
def test_what_data_says_is_text(thing):
    html = thing._repr_html_()
    found = Tags(html)
    known = {"div", "style", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "img"}
    assert found.tags <= known
    assert all(address.startswith("data:image/png;base64,") for address in found.addresses)
    assert "<script" not in html


@pytest.mark.parametrize("thing", SHOWN.values(), ids=SHOWN)
def test_names_are_there_in_full(thing):
    if EVIL in repr(getattr(thing, "feature_names_in_", "")):
        assert EVIL in "".join(Tags(thing._repr_html_()).text)


def test_a_panel_escapes_everything():
    rows = Rows.of({EVIL: [EVIL]}, kinds=[EVIL])
    html = Panel(EVIL, {EVIL: EVIL}, rows=rows, note=EVIL).html()
    assert "script>" not in html.replace("&lt;script&gt;", "").replace("&lt;/script&gt;", "")
    assert html.count("&lt;script&gt;") == 7


@pytest.mark.parametrize("name", ["images", "images, model", "floats", "tensors"])
def test_images_are_a_picture(name):
    assert len(Tags(SHOWN[name]._repr_html_()).addresses) == 1


@pytest.mark.parametrize("name", ["halves", "many channels"])
def test_without_a_picture_a_note_says_what_to_call(name):
    found = Tags(SHOWN[name]._repr_html_())
    assert not found.addresses
    assert "draws samples" in "".join(found.text)


def test_the_same_model_is_shown_the_same():
    for thing in SHOWN.values():
        if not isinstance(thing, Rows):
            assert thing._repr_html_() == thing._repr_html_()


def test_a_large_model_is_shown_without_sampling(monkeypatch):
    """Sampling would take long: a notebook shows it in no time."""
    monkeypatch.setattr("sliceflow.model.QUICK_WORK", 0)
    fresh, table = flow().model_, SlicedFlow(schedule=3).fit(IMAGES.reshape(60, -1)).model_
    monkeypatch.setattr(sliceflow.Model, "sample", lambda *_, **__: pytest.fail("it samples"))
    assert "draws samples" in fresh._repr_html_()
    assert "draws samples" in table._repr_html_()


def test_a_wide_table_is_shown_without_sampling(monkeypatch):
    table = SlicedTable(random_state=0).fit(mixed(50))
    monkeypatch.setattr("sliceflow.table_model.MAX_QUICK", 3)
    monkeypatch.setattr(sliceflow.TableModel, "_sampled", lambda *_: pytest.fail("it samples"))
    assert "show() draws rows" in table._repr_html_()


def test_a_loaded_model_shows_the_picture_of_its_file(tmp_path, monkeypatch):
    model, path = flow(y=LABELS).model_, tmp_path / "model.zip"
    model.save(path)
    monkeypatch.setattr(sliceflow.Model, "sample", lambda *_, **__: pytest.fail("it samples"))
    loaded = sliceflow.load(path)
    assert loaded._repr_html_() == model._repr_html_()
    loaded.save(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "data", [b"<svg onload=alert(1)>", b"\x89PNG" + bytes(_archive.MAX_PICTURE)]
)
def test_a_picture_that_is_none_or_too_large_is_not_shown(data, tmp_path):
    model, path = flow().model_, tmp_path / "model.zip"
    model._pictures[_archive.PICTURE] = data
    model.save(path)
    assert not sliceflow.load(path)._pictures


def test_show_draws_images_by_label():
    model = flow(y=LABELS)
    picture = model.show(6, random_state=1)
    assert isinstance(picture, Image.Image)
    assert np.array_equal(np.asarray(picture), np.asarray(model.show(6, random_state=1)))
    assert picture.width > model.show(6, y="cat").width  # names of labels are beside the others


def test_show_refuses_images_without_colours():
    with pytest.raises(ValueError, match="use sample"):
        SHOWN["many channels"].show()


def test_show_is_of_samples():
    model = SHOWN["table by label"]
    rows, samples = model.show(3, "cat", 5), model.sample(3, "cat", 5)
    assert rows.names == [EVIL, "b"]
    assert rows.cells == [tuple(map(as_text, row)) for row in samples]
    drawn, table = SHOWN["rows"].show(2, {EVIL: "b"}, 5), SHOWN["rows"].sample(2, {EVIL: "b"}, 5)
    assert drawn.cells == [(word, as_text(x)) for word, x in table.itertuples(index=False)]


def test_every_kind_of_value_is_readable():
    table = SlicedTable(random_state=0, keep_gaps=True).fit(mixed())
    text = repr(table.show(60, random_state=0))
    assert len(text.splitlines()) == 61
    assert not re.search(r"NaT|nan|None|nanoseconds|T00:00", text)
    assert set(map(len, text.splitlines())) == {len(text.splitlines()[0])}
    assert table._repr_html_().count("<svg") == len(mixed().columns)


def test_wide_tables_are_cut():
    html = SlicedTable(random_state=0).fit(RNG.normal(size=(50, MAX_COLUMNS + 3)))._repr_html_()
    assert "and 3 more columns" in html
    assert f"x{MAX_COLUMNS - 1}<" in html
    assert f"x{MAX_COLUMNS}<" not in html


def test_long_values_are_cut():
    assert as_text("long" * 100) == ("long" * 10)[:39] + "…"


def test_small_plots_of_any_numbers():
    for values in (np.array([5]), 2**60 + np.arange(3), np.array([-1e300, 0.0, 1e300])):
        assert "<rect" in plot_values(values, np.ones(len(values)))


def test_what_is_not_fitted_is_plain():
    for thing in (SlicedFlow(), SlicedTable(), SlicedImputer(), flow(knots=None)):
        assert thing._repr_html_() is None


def test_rows_that_wait_for_their_maps_are_plain():
    table = SlicedTable(random_state=0).fit(mixed(50)).partial_fit(mixed(50))
    assert table._repr_html_() is None
    table.sample(1)
    assert "made from" in table._repr_html_()


def test_plain_text_is_one_line():
    for thing in (SHOWN["images, model"], SHOWN["rows, model"], SHOWN["no run"]):
        assert len(repr(thing)) < 100
        assert "\n" not in repr(thing)


def test_a_run(tmp_path):
    run = Run(str(tmp_path / "run"))
    run.picture(2).parent.mkdir(parents=True)
    run.config.write_text("data: photos\n")
    Image.new("L", (4, 4)).save(run.picture(2))
    lines = [f'{{"step": {i}, "seconds": 1, "distance": {3 - i}, "floor": 0.5}}' for i in (1, 2)]
    run.metrics.write_text("\n".join(lines) + "\n")
    unfinished = "".join(Tags(run._repr_html_()).text)
    assert "--resume" in unfinished
    assert "Particles so far" in run._repr_html_()
    model = flow().model_
    model.save(run.model)
    text = "".join(Tags(run._repr_html_()).text)
    assert "--resume" not in text
    assert "images of 1×6×6" in text
    assert "1, between two samples of the data 0.5" in text
    run.model.write_bytes(b"damaged")
    assert "cannot be used" in run._repr_html_()


def test_pictures_are_png():
    picture = flow().model_._picture()
    assert Image.open(io.BytesIO(picture)).format == "PNG"
