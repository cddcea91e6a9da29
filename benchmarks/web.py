"""Digits by class in the browser, and with NumPy alone: how fast, how large, how good."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from benchmarks._served import served
from benchmarks.ledger import ROOT, Figure
from sliceflow import Model, load
from sliceflow.data import Images
from sliceflow.data import load as load_images
from sliceflow.metrics import Classifier
from sliceflow.reproduce._fits import PART, Judge, fit
from sliceflow.reproduce._speed import seconds
from sliceflow.runtime import load as load_runtime
from sliceflow.web import export_page

SAMPLES = 5000
"""Number of samples for FID."""

ASKED = 100
"""Number of sevens that a visitor asks for."""

FIRST = "from sliceflow import runtime; runtime.load({path!r}).sample(1, 7, 0)"

SAMPLE = """async ([n, seed]) => {
  const { Model } = await import("./flow.js");
  const model = new Model(await (await fetch("model.zip")).arrayBuffer());
  let last;
  for (const particles of model.sample(n, 7, BigInt(seed))) last = particles;
  const { shift, scale, size } = model;
  const levels = (i) => last.x[(i % size) * last.width + Math.floor(i / size)];
  return Array.from({ length: n * size }, (_, i) => levels(i) * scale[i % size] + shift[i % size]);
}"""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield the figures of both, for one model that is fitted first."""
    images = load_images("mnist")[: 60_000 // shrink**2]
    settings = {"schedule": "quick", "n_particles": 60_000 // shrink**2}
    fitted, cost = fit(images, labels=True, knots=64, **settings)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fitted.save(folder / "model.zip")
        yield from of_runtime(folder / "model.zip", repeats)
        megabytes = export_page(fitted.model_, folder / "site", "Handwritten digits")
        about = f"MNIST by class, quick, {cost}"
        yield Figure("web.model_mb", megabytes, "MB", f"the model of the page, {about}")
        yield from in_browser(folder / "site", repeats, shrink)
        yield from likeness(fitted.model_, load(folder / "site" / "model.zip"), images, shrink)


def of_runtime(path: Path, repeats: int) -> Iterator[Figure]:
    """Yield the seconds until a new process without PyTorch has its first sample."""
    command = [sys.executable, "-c", FIRST.format(path=str(path))]
    value = median(seconds(lambda: subprocess.run(command, check=True)) for _ in range(repeats))
    about = "a new process has drawn a digit with NumPy alone, quick"
    yield Figure("runtime.first_sample_s", value, "s", about)


def in_browser(site: Path, repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how fast a visitor gets digits, whether they are right, and those of Python."""
    with served(site) as address, sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        firsts, rates = zip(
            *(visit(browser.new_page(), address) for _ in range(repeats)), strict=True
        )
        yield Figure(
            "web.first_digits_s", median(firsts), "s", "a visitor sees the first 40 digits"
        )
        about = f"the page draws {ASKED} digits"
        yield Figure("web.digits_per_s", median(rates), "digits/s", about)
        page = browser.new_page()
        page.goto(address)
        drawn = page.evaluate(SAMPLE, [ASKED, "1"])
        if shrink == 1:
            photograph(browser, address)
        browser.close()
    yield from compared(drawn, load_runtime(site / "model.zip"), shrink)


def visit(page: Page, address: str) -> tuple[float, float]:
    """Open the page and ask for sevens; return the seconds to the first digits, and the rate."""
    started = perf_counter()
    page.goto(address)
    wait(page, 40)
    first = perf_counter() - started
    page.get_by_label("Samples", exact=True).first.fill(str(ASKED))
    page.get_by_role("radio", name="7").check()
    wait(page, ASKED)
    text = page.locator("#status").inner_text()  # 100 samples in 1.5 s, 67 a second.
    page.close()
    return first, float(text.split(",")[1].split()[0])


def wait(page: Page, n: int) -> None:
    """Wait until n samples are drawn."""
    page.wait_for_function(
        f"document.getElementById('status').textContent.startsWith('{n} samples in')",
        timeout=300_000,
    )


def photograph(browser: Any, address: str) -> None:
    """Take pictures of the page for the docs: wide and light, narrow and dark."""
    for width, height, scheme in ((1280, 1060, "light"), (390, 844, "dark")):
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.goto(address)
        wait(page, 40)
        page.get_by_label("Samples", exact=True).first.fill(str(ASKED))
        page.get_by_role("radio", name="7").check()
        wait(page, ASKED)
        page.screenshot(path=ROOT / "docs" / "images" / f"web-{width}.png")
        page.close()


def compared(drawn: list[float], model: Any, shrink: int) -> Iterator[Figure]:
    """Yield the difference to the samples of Python, and how many a classifier takes for sevens."""
    unrounded = replace(model, codec=replace(model.codec, dtype=np.dtype(float)))
    x = unrounded.sample(ASKED, 7, 1)
    levels = np.array(drawn).reshape(x.shape)
    difference = float(np.abs(levels - x).max() / 128)
    about = "largest difference between pixels of the page and of sliceflow.runtime, −1 to 1"
    yield Figure("web.difference", difference, "", about)
    images = levels.round().clip(0, 255).astype(np.uint8)
    train = load_images("mnist")[: 60_000 // shrink**2]
    assert train.labels is not None
    judge = Classifier(3).fit(train.pixels, train.labels)
    share = float((judge.predict(images) == 7).mean())
    yield Figure("web.sevens", share, "", f"of {ASKED} sevens of the page, taken for sevens")


def likeness(full: Model, small: Model, images: Images, shrink: int) -> Iterator[Figure]:
    """Yield FID of samples of the model of the page, beside that of the whole model."""
    n, judge = SAMPLES // shrink**2, Judge(images[:PART])
    y = np.resize(full.codec.classes, n)
    fids = [judge.fid_of(model.sample(n, y, 1, output="numpy")) for model in (full, small)]
    about = f"FID of {n:,} samples to {PART:,} images, MNIST by class, quick"
    yield Figure("web.fid.full", fids[0], "", f"{about}: the whole model")
    yield Figure("web.fid", fids[1], "", f"{about}: the model of the page")
    yield Figure(
        "web.fid_ratio", fids[1] / fids[0], "", "FID of the page's model / the whole model's"
    )
