"""The page, in a real browser, from a plain web server and with no other network."""

import shutil
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pytest
from firefox import firefox
from playwright.sync_api import expect, sync_playwright

from benchmarks._served import served
from sliceflow import Exact, SlicedFlow, Stage, load, runtime
from sliceflow.web import export_page

FIREFOX = shutil.which("firefox") or shutil.which("firefox-esr")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")

RNG = np.random.default_rng(0)
GREY = RNG.integers(256, size=(300, 1, 8, 8)).astype(np.uint8)
COLOUR = RNG.integers(256, size=(300, 3, 8, 6)).astype(np.uint8)
MANY = np.random.default_rng(1).integers(256, size=(1100, 3, 8, 6)).astype(np.uint8)
LABELS = RNG.choice(["cat", "dog <b>"], 300)
NUMBERS = RNG.normal(size=(300, 2))
STAGES = [Stage(3, 4), Stage(3, 6, 4, band=(1, 3, None)), Stage(3, 8, 3, shared=True)]
PHOTO_STAGES = [Stage(3, 4), Stage(3, 6, 4, band=2, step_size=(1.0, 0.5))]

SAMPLE = """async ([given, n, seed, first]) => {
  const { Model } = await import("./flow.js");
  const model = new Model(await (await fetch("model.zip")).arrayBuffer());
  let last;
  for (const particles of model.sample(n, given, BigInt(seed), first)) last = particles;
  return [...last.images()];
}"""


def fitted(x, y=None, **settings):
    schedule = STAGES if x.shape[1] == 1 else PHOTO_STAGES
    settings = {"n_particles": 300, "random_state": 0, "schedule": schedule} | settings
    return SlicedFlow(**settings).fit(x, y).model_


MODELS = {
    "labels": (lambda: fitted(GREY, LABELS), 1, "dog <b>"),
    "colour": (lambda: fitted(COLOUR), None, None),
    "blends": (lambda: fitted(MANY), None, None),
    "numbers": (lambda: fitted(GREY, NUMBERS), [0.5, -1.0], [0.5, -1.0]),
    "beyond": (lambda: fitted(GREY, NUMBERS), [90.0, 0.0], [90.0, 0.0]),
    "mask": (lambda: fitted(GREY, observed="left"), GREY[7].ravel().tolist(), GREY[7]),
    "large seed": (lambda: fitted(GREY, random_state=2**100 + 1), None, None),
}
"""Models, what is given to the page, and the same for Python."""


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens the page of a model; its errors fail the test."""
    errors, closing = [], ExitStack()

    def open_page(model, **settings):
        export_page(model, tmp_path / "site", "A model & its <page>")
        address = closing.enter_context(served(tmp_path / "site")) + "/"
        context = browser.new_context(**settings)
        closing.callback(context.close)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda r: r.url.startswith(("data:", address)) or errors.append(r.url))
        page.goto(address)
        return page

    with closing:
        yield open_page
    assert not errors


@needs_browser
@pytest.mark.parametrize("name", MODELS)
def test_samples_are_those_of_python(name, opened, tmp_path):
    make, given, y = MODELS[name]
    page = opened(make())
    model = runtime.load(tmp_path / "site" / "model.zip")
    if name == "beyond":
        with pytest.warns(UserWarning, match="beyond the data"):
            expected = model.sample(260, y, 5)
    else:
        expected = model.sample(260, y, 5)
    for first, n in ((0, 5), (250, 10)):  # also of two batches
        drawn = page.evaluate(SAMPLE, [given, n, "5", first])
        assert_equal(drawn, expected[first : first + n])


def assert_equal(drawn, expected):
    """Assert that bytes are equal, but for a few that rounding has moved by one."""
    difference = np.abs(np.reshape(drawn, expected.shape) - expected.astype(int))
    assert difference.max() <= 1
    assert (difference > 0).mean() < 1e-3


@pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed")
def test_firefox_draws_the_same(tmp_path):
    export_page(fitted(GREY, LABELS), tmp_path / "site", "Cats and dogs")
    with served(tmp_path / "site") as address, firefox(FIREFOX, tmp_path / "profile") as page:
        page.goto(address)
        status = "document.getElementById('status').textContent"
        while not (text := page.evaluate(status)).startswith("40 samples in"):
            assert text.startswith(("Loading", "Drawing")), text
        drawn = page.evaluate(f"({SAMPLE})([1, 5, '5', 0])")
    model = runtime.load(tmp_path / "site" / "model.zip")
    assert_equal(drawn, model.sample(5, "dog <b>", 5))


@needs_browser
def test_a_visitor_draws_by_class(opened):
    page = opened(fitted(GREY, LABELS), viewport={"width": 390, "height": 844})
    status = page.get_by_role("status")
    expect(status).to_contain_text("40 samples in")
    assert page.title() == "A model & its <page>"
    before = page.locator("#samples").evaluate("canvas => canvas.toDataURL()")
    page.get_by_role("radio", name="cat").focus()
    page.keyboard.press("ArrowRight")  # the next class, by keyboard alone
    expect(page.get_by_role("radio", name="dog <b>")).to_be_checked()
    expect(status).to_contain_text("40 samples in")
    assert page.locator("#samples").evaluate("canvas => canvas.toDataURL()") != before
    page.get_by_label("Samples", exact=True).first.fill("9")
    page.get_by_role("button", name="Draw more").click()
    expect(status).to_contain_text("9 samples in")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "samples.png"
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390


@needs_browser
def test_a_visitor_stops(opened):
    model = fitted(GREY, schedule=[Stage(3000, 8, 3)])
    page = opened(model)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("status")).to_have_text("Stopped.")
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()


@needs_browser
def test_a_visitor_chooses_numbers(opened):
    page = opened(fitted(GREY, NUMBERS), color_scheme="dark")
    expect(page.get_by_role("status")).to_contain_text("40 samples in")
    assert page.get_by_role("slider").count() == 2
    page.get_by_role("slider").first.fill("1")
    expect(page.get_by_role("status")).to_contain_text("40 samples in")


@needs_browser
def test_a_visitor_paints(opened):
    page = opened(fitted(GREY, observed="left"))
    expect(page.get_by_role("status")).to_contain_text("40 samples in")
    paper = page.get_by_label("The observed part of the image")
    before = page.locator("#samples").evaluate("canvas => canvas.toDataURL()")
    paper.hover(position={"x": 30, "y": 30})
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_role("status")).to_contain_text("40 samples in")
    assert page.locator("#samples").evaluate("canvas => canvas.toDataURL()") != before


@needs_browser
def test_a_damaged_model_is_said(opened):
    page = opened(fitted(GREY))
    page.route("**/model.zip", lambda route: route.fulfill(body="no model"))
    page.reload()
    expect(page.get_by_role("status")).to_contain_text("not a sliceflow model")


def test_python_reads_the_model_of_the_page(tmp_path):
    export_page(fitted(GREY, LABELS), tmp_path, "")
    x, expected = (
        read(tmp_path / "model.zip").sample(50, "cat", 1) for read in (load, runtime.load)
    )
    assert np.abs(x - expected.astype(int)).mean() < 0.1


def test_what_the_page_cannot_sample_is_refused_with_the_reason(tmp_path):
    table = SlicedFlow(n_particles=100, schedule=2).fit(NUMBERS).model_
    exact = fitted(GREY, engine=Exact(20), schedule=[Stage(2, 4)])
    for model in (table, exact):
        with pytest.raises(ValueError, match="images, fitted with the engine Fast"):
            export_page(model, tmp_path / "site", "")


def test_the_command_says_what_to_do_next(tmp_path):
    fitted(GREY).save(tmp_path / "model.zip")
    command = [sys.executable, "-m", "sliceflow", "export", tmp_path / "model.zip", "--web"]
    done = subprocess.run([*command, tmp_path / "site"], capture_output=True, text=True, check=True)
    assert f"python -m http.server --directory {tmp_path / 'site'}" in done.stdout
    names = {path.name for path in (tmp_path / "site").iterdir()}
    assert {"index.html", "flow.js", "model.zip"} <= names
