"""Data larger than memory: a fit to 30 GB of images within 2 GB."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from benchmarks.ledger import ROOT, Figure
from sliceflow.data import Images, load

GIGABYTES, FILE = 30, 1e9
"""Of all files together, and bytes of one."""
GROUP = 500
"""Rows of a row group."""
CAP = 2 * 2**30
"""Bytes of memory that the fit may have, with what the system keeps of the files."""
CGROUPS = Path("/sys/fs/cgroup")


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield what a fit to large files takes."""
    images = load("cifar10")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        room = shutil.disk_usage(folder).free // 2e9
        gigabytes = write_noisy(images, folder, min(room, GIGABYTES / shrink**2))
        particles = str(10_000 // shrink**2)
        told = capped([sys.executable, "-m", "benchmarks._streamed", name, particles])
    about = f"{gigabytes:.3g} GB of Parquet files, 32×32, at most {CAP / 2**30:g} GiB of memory"
    share = told["waited"] / told["seconds"]
    yield Figure("stream_wait_share", share, "", f"of its time that a fit waits for data, {about}")
    yield Figure("stream.minutes", told["seconds"] / 60, "min", f"the fit, quick, {about}")
    yield Figure("stream.memory", told["peak"] / 2**30, "GiB", f"most memory of the fit, {about}")


def write_noisy(images: Images, folder: Path, gigabytes: float) -> float:
    """Write Parquet files of images with noise, encoded; return how large they are together."""
    pixels = np.ascontiguousarray(images.pixels.transpose(0, 2, 3, 1))
    numbers = range(max(1, round(gigabytes * 1e9 / FILE)))
    size = min(FILE, gigabytes * 1e9)
    with ThreadPoolExecutor() as pool:
        list(pool.map(partial(write_file, pixels, folder, size), numbers))
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e9


def write_file(pixels: np.ndarray, folder: Path, size: float, number: int) -> None:
    """Write one of them, without compression: noise would hardly be smaller."""
    rng, schema = np.random.default_rng(number), pa.schema({"image": pa.binary()})
    path = folder / f"{number:03}.parquet"
    with ParquetWriter(path, schema, use_dictionary=False, compression="none") as file:
        for _ in range(round(size / GROUP / pixels[0].size)):
            rows = noisy(pixels[rng.integers(len(pixels), size=GROUP)], rng)
            file.write(pa.table({"image": encoded(rows)}, schema))
    with path.open("rb") as written:  # so that the fit finds nothing of it in memory
        os.fsync(written.fileno())
        os.posix_fadvise(written.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def noisy(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return images whose lowest three bits are noise."""
    return pixels ^ (np.frombuffer(rng.bytes(pixels.size), np.uint8).reshape(pixels.shape) & 7)


def encoded(pixels: np.ndarray) -> list[bytes]:
    """Return images (n, h, w, C) as PPM files."""
    _, height, width, _ = pixels.shape
    head = f"P6 {width} {height} 255\n".encode()
    return [head + row.tobytes() for row in pixels]


def capped(command: list[str]) -> dict:
    """Return what a process tells that has so much memory and no more."""
    old = CGROUPS / "memory"  # of control groups in their first version
    root, limit = (old, "memory.limit_in_bytes") if old.is_dir() else (CGROUPS, "memory.max")
    own = root / "sliceflow"
    try:
        own.mkdir(exist_ok=True)
        (own / limit).write_text(str(CAP))
    except OSError as error:
        raise FileNotFoundError(f"a memory cap needs root and control groups: {error}") from error
    try:
        enter = ["sh", "-c", f'echo $$ > {own}/cgroup.procs && exec "$@"', "sh"]
        done = subprocess.run([*enter, *command], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    finally:
        own.rmdir()
    return json.loads(done.stdout)
