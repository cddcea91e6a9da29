"""What people have may be damaged, of another kind, or not there: one line says so, and the fix."""

import contextlib
import importlib
import io
import json
import os
import pickle
import shutil
import socket
import sys
import tarfile
import tempfile
import time
import zlib
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image, ImageOps
from pyarrow import parquet

from sliceflow import FileError, SlicedFlow, data
from sliceflow.cli import main
from sliceflow.cli._options import Fit
from sliceflow.cli._source import read
from sliceflow.core._random import Draw, Random
from sliceflow.core._reading import check_file
from sliceflow.core._settings import MAX_BYTES, read_settings
from sliceflow.data._folders import read_image
from sliceflow.data._tables import load_csv
from sliceflow.runs._run import Run

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def told(capsys, *arguments):
    """Return the line that a command ends in, which is not to take long."""
    importlib.import_module(f"sliceflow.cli._{arguments[0]}")
    started = time.process_time()
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    assert end.value.code in (1, 2)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"sliceflow {arguments[0]}: ")
    assert time.process_time() - started < 2
    return line


# Tables


def table(text, path="some.csv"):
    Path(path).write_text(text)
    return load_csv(Path(path))


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_separator_is_found(mark):
    rows = [["u", "a name, or two; maybe", "v"], ["1", "x, y", "2.5"], ["3", "a|b", "4"]]
    lines = [mark.join(f'"{word}"' for word in row) for row in rows]
    found = table("\n".join(lines) + "\n")
    assert list(found.columns) == rows[0]
    assert found.numbers(["u", "v"]).tolist() == [[1, 2.5], [3, 4]]


def test_a_table_of_one_column_has_no_separator():
    assert table("u\n1\n2\n").numbers(["u"]).tolist() == [[1], [2]]


def test_a_line_of_names_is_needed():
    with pytest.raises(ValueError, match="only numbers in its first line: add a header line"):
        table("0.5,1\n1.5,2\n2.5,3\n")


def test_codes_with_leading_zeros_are_words():
    found = table("zip,u\n00501,01\n10001,02\n")
    assert found.column("zip").tolist() == ["00501", "10001"]
    assert found.numbers(["u"]).tolist() == [[1], [2]]


def test_commas_in_numbers_are_pointed_out():
    with pytest.raises(ValueError, match=r"column 'u' has '1,5' in line 2: write it without a com"):
        table("u;v\n1,5;2\n2,5;1\n").numbers(["u"])


@pytest.mark.parametrize("word", ["", " ", "NA", "n/a", "NaN", "null", "NULL"])
def test_a_missing_value_matters_where_it_is_used(word):
    found = table(f'u,v,"w\nx"\n1,2,3\n\n4,{word},6\n')
    assert found.numbers(["u", "w\nx"]).tolist() == [[1, 3], [4, 6]]
    assert found.numeric() == ["u", "v", "w\nx"]
    for use in (found.column, lambda name: found.numbers([name])):
        with pytest.raises(ValueError, match=r"some\.csv: column 'v' has no value in line 5: fill"):
            use("v")


def test_a_missing_label_is_no_label():
    with pytest.raises(ValueError, match="column 'kind' has no value in line 3"):
        table("u,kind\n1,a\n2,NA\n3,none\n").column("kind")


@pytest.mark.parametrize("word", ["9" * 400, "9" * 5000, str(2**64), str(2**53 + 1), str(-(2**63))])
def test_whole_numbers_that_floats_do_not_hold(word):
    found = table(f"u,v\n1,2\n3,{word}\n")
    assert found.numbers(["u"]).tolist() == [[1], [3]]
    with pytest.raises(ValueError, match=rf"some\.csv: column 'v' has '{word[:20]}.* in line 3: "):
        found.numbers(["v"])


@pytest.mark.parametrize("word", ["1e400", "inf", "-Infinity"])
def test_numbers_that_are_not_finite(word):
    with pytest.raises(ValueError, match=r"column 'v' has .* in line 2: write a finite number"):
        table(f"u,v\n1,{word}\n3,1.5\n").numbers(["v"])


def test_the_largest_numbers_that_are_held():
    assert table(f"u\n{2**53}\n{-(2**53)}\n1e20\n").numbers(["u"]).ravel().tolist() == [
        *(2.0**53, -(2.0**53), 1e20)
    ]
    assert table(f"u\n{2**62}\n7\n").column("u").dtype == np.int64  # a label


def test_words_where_numbers_are_needed():
    with pytest.raises(ValueError, match=r"some\.csv: column 'v' is words, not numbers"):
        table("u,v\n1,a\n2,b\n").numbers(["u", "v"])
    with pytest.raises(ValueError, match="column 'v' has 'b_1' in line 3: write a number"):
        table("u,v\n1,1\n2,b_1\n3,4\n").numbers(["v"])
    assert table("u\n1_0\n2_0\n").column("u").tolist() == ["1_0", "2_0"]


@pytest.mark.parametrize(
    ("content", "fix"),
    [
        (b"u,v\n1,\x81\n", "not a CSV file"),
        (b"\0" * 10**6, "is not text"),
        (b'u,v\n1,"a\n2,3\n', "not a CSV file"),
        (b"", "has no rows"),
        (b"u,v\n1,2,3\n", "line 2 of some.csv has 3 values, and the header has 2 names"),
    ],
)
def test_no_table(content, fix):
    Path("some.csv").write_bytes(content)
    with pytest.raises(ValueError, match=fix):
        load_csv(Path("some.csv"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(encoding):
    Path("some.csv").write_bytes("ü,v\né,1\nè,2\n".encode(encoding))
    assert load_csv(Path("some.csv")).columns["ü"].tolist() == ["é", "è"]


def test_one_long_text_does_not_make_all_long():
    """A string of NumPy is as long as the longest: 4 GB here."""
    found = table("u,note\n" + f"0,{'x' * 10**5}\n" + "1,y\n" * 10**4)
    assert len(found.numbers(["u"])) == 10_001
    assert sum(column.nbytes for column in found.columns.values()) < 10**6


def test_a_column_is_named_once(capsys):
    Path("some.csv").write_text("u,v\n1,2\n2,3\n")
    for flags in (("--columns", "u,u"), ("--y", "u,u")):
        assert told(capsys, "fit", "some.csv", *flags).endswith(
            "has u more than once: write it once"
        )


# Images


def png(pixels, **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, options.pop("format", "PNG"), **options)
    return file.getvalue()


def turned(format):
    """Return a picture as a camera on its side stores it, and as it is seen."""
    exif = Image.Exif()
    exif[0x0112] = 6
    pixels = np.repeat(np.repeat(RNG.integers(256, size=(3, 2, 3), dtype=np.uint8), 8, 0), 8, 1)
    stored = png(pixels, format=format, exif=exif)
    with Image.open(io.BytesIO(stored)) as image:
        return stored, np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def test_images_are_turned_as_the_camera_says():
    stored, seen = turned("JPEG")
    assert seen.shape == (16, 24, 3)
    Path("photos").mkdir()
    Path("photos/a.jpg").write_bytes(stored)
    with tarfile.open("a.tar", "w") as tar:
        tar.add("photos/a.jpg", "a.jpg")
    parquet.write_table(pa.table({"image": [stored]}), "a.parquet")
    found = [data.load("photos").pixels]
    found += [
        data.stream(path).draw(Random(0, Draw.PROBE), 1)[0]
        for path in ("photos", "a.tar", "a.parquet")
    ]
    assert all((pixels[0] == seen.transpose(2, 0, 1)).all() for pixels in found)


def test_transparent_images_are_on_white():
    grey, clear = np.full((2, 2), 100, np.uint8), np.array([[255, 0], [0, 255]], np.uint8)
    on_white = np.where(clear == 0, 255, 100)
    for layers in ([grey, clear], [grey, grey, grey, clear]):
        Path("a.png").write_bytes(png(np.stack(layers, axis=2)))
        seen = np.asarray(read_image(Path("a.png")))
        assert (seen.reshape(2, 2, -1) == on_white[..., None]).all()
        assert seen.ndim == (2 if len(layers) == 2 else 3)
    paletted = Image.fromarray(clear // 255).convert("P")
    paletted.putpalette([9, 9, 9, 100, 100, 100])
    paletted.save("p.png", transparency=0)
    assert (np.asarray(read_image(Path("p.png")))[..., 0] == on_white).all()


def test_images_of_other_kinds():
    """CMYK becomes RGB, of 16 bits the upper eight are kept, of a film the first picture."""
    Image.new("CMYK", (4, 4), (0, 0, 0, 0)).save("cmyk.jpg")
    assert np.asarray(read_image(Path("cmyk.jpg"))).tolist() == [[[255] * 3] * 4] * 4
    Image.fromarray(np.full((3, 3), 7 * 256 + 9, np.uint16)).save("deep.png")
    assert (np.asarray(read_image(Path("deep.png"))) == 7).all()
    frames = [Image.new("L", (3, 3), value) for value in (10, 200)]
    for name in ("film.png", "film.webp"):
        frames[0].save(name, save_all=True, append_images=frames[1:], lossless=True)
        assert abs(np.asarray(read_image(Path(name))).astype(int) - 10).max() <= 1


def bomb(side):
    """Return a small PNG of side × side pixels."""
    row = zlib.compress(bytes(side // 8 + 1) * side, 9)

    def chunk(kind, content):
        crc = zlib.crc32(kind + content).to_bytes(4, "big")
        return len(content).to_bytes(4, "big") + kind + content + crc

    size = side.to_bytes(4, "big") * 2
    parts = chunk(b"IHDR", size + bytes([1, 0, 0, 0, 0])), chunk(b"IDAT", row), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


WHOLE = png(RNG.integers(256, size=(40, 40, 3), dtype=np.uint8))
BAD_IMAGES = {
    "a bomb": (bomb(20_000), "has more than 67,108,864 pixels: make it smaller"),
    "a large one": (bomb(9_600), "has more than 67,108,864 pixels: make it smaller"),
    "empty": (b"", "is not a complete image"),
    "text": (b"this is no picture", "is not a complete image"),
    "cut off": (WHOLE[:2000], "is not a complete image"),
    "cut off in its head": (WHOLE[:20], "is not a complete image"),
    "damaged": (WHOLE[:60] + b"????????" + WHOLE[68:], "is not a complete image"),
    "half a photo": (turned("JPEG")[0][:400], "is not a complete image"),
}


@pytest.mark.parametrize("kind", BAD_IMAGES)
def test_a_bad_image_is_named(kind, capsys):
    content, fix = BAD_IMAGES[kind]
    Path("photos").mkdir()
    Path("photos/1.png").write_bytes(WHOLE)
    Path("photos/x.png").write_bytes(content)
    assert f"photos/x.png {fix}" in told(capsys, "fit", "photos")
    with tarfile.open("a.tar", "w") as tar:
        tar.add("photos/x.png", "x.png")
    with pytest.raises(FileError, match=rf"x\.png in a\.tar {fix}"):
        data.stream("a.tar").draw(Random(0, Draw.PROBE), 1)
    parquet.write_table(pa.table({"image": [content]}), "a.parquet")
    with pytest.raises(FileError, match=rf"a\.parquet {fix}"):
        data.stream("a.parquet").draw(Random(0, Draw.PROBE), 1)
    with pytest.raises(FileError, match=fix):
        read(Fit("photos", observed="photos/x.png", size=(8, 8)))


def test_a_link_to_nothing(capsys):
    Path("photos").mkdir()
    Path("photos/x.png").symlink_to("gone.png")
    assert "photos/x.png is a link to gone.png, which does not exist: delete" in told(
        capsys, "fit", "photos"
    )


@pytest.fixture
def as_another():
    """A folder in which root has no more rights than others, while it is read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    user = os.geteuid()

    @contextlib.contextmanager
    def other():
        if user == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(user)

    yield folder, other
    for path in folder.rglob("*"):
        path.chmod(0o700)
    shutil.rmtree(folder)


def test_what_may_not_be_read(as_another):
    folder, other = as_another
    for name in ("a", "b"):
        (folder / "photos" / name).mkdir(parents=True)
        (folder / "photos" / name / "1.png").write_bytes(WHOLE)
    (folder / "photos" / "a").chmod(0)
    (folder / "some.csv").write_text("u\n1\n")
    (folder / "some.csv").chmod(0)
    with other():
        with pytest.raises(PermissionError, match="photos/a"):
            data.load(folder / "photos")
        with pytest.raises(PermissionError, match=r"some\.csv cannot be read"):
            load_csv(folder / "some.csv")


# Names


@pytest.mark.parametrize("name", ["MNIST", "Fashion-MNIST", "fashion_mnist", "CIFAR10", "Cifar-10"])
def test_data_sets_in_any_spelling(name, monkeypatch):
    asked = []
    for known in data.PUBLISHED:
        monkeypatch.setitem(data.PUBLISHED, known, lambda *_, known=known: asked.append(known))
    data.load(name, folder=".")
    assert asked == [name.lower().replace("-", "").replace("_", "")]


def test_a_folder_is_not_taken_for_a_data_set():
    Path("MNIST").mkdir()
    Path("MNIST/1.png").write_bytes(WHOLE)
    assert data.load("MNIST").shape == (3, 40, 40)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("minst", "mnist"), ("mnsit", "mnist"), ("CIFAR", "cifar10"), ("celebA1", "celeba")],
)
def test_data_sets_that_were_meant(name, meant, capsys):
    assert told(capsys, "fit", name).endswith(f": did you mean {meant}?")


def test_paths_that_were_meant(capsys):
    for path in ("photos", "in/my-photos"):
        Path(path).mkdir(parents=True)
    Path("table.csv").write_text("u\n1\n")
    assert told(capsys, "fit", "photo").endswith("did you mean photos?")
    assert told(capsys, "fit", "in/my-photo").endswith(
        "No such file or directory: did you mean my-photos?"
    )
    assert told(capsys, "fit", "tabel.csv").endswith("did you mean table.csv?")
    assert told(capsys, "fit", "elsewhere/x.npz").endswith(
        "No such file or directory: check the path"
    )
    assert told(capsys, "fit", "x.npy", "--stream").endswith("check the path")


def test_suffixes_in_any_case():
    images, rows = RNG.integers(256, size=(4, 3, 5, 5), dtype=np.uint8), RNG.normal(size=(9, 2))
    with open("a.NPZ", "wb") as file:
        np.savez(file, images=images)
    with open("a.NPY", "wb") as file:
        np.save(file, rows)
    parquet.write_table(pa.table({"u": rows[:, 0]}), "a.PARQUET")
    with tarfile.open("a.TAR", "w") as tar:
        for name, content in (("1.PNG", WHOLE), ("1.CLS", b"3")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    Path("A.CSV").write_text("u,v\n1,2\n")
    assert (data.load("a.NPZ").pixels == images).all()
    assert [len(data.stream(f"a.{kind}")) for kind in ("NPZ", "NPY", "PARQUET", "TAR")] == [
        4,
        9,
        9,
        1,
    ]
    assert read(Fit("A.CSV")).x.tolist() == [[1, 2]]
    Path("mask.PNG").write_bytes(png(np.full((5, 5), 255, np.uint8)))
    assert read(Fit("a.NPZ", observed="mask.PNG", stream=True)).observed.all()


def test_what_is_only_streamed(capsys):
    parquet.write_table(pa.table({"u": [1.0, 2.0]}), "a.parquet")
    assert told(capsys, "fit", "a.parquet", "--y", "u").endswith("pass --stream")


# What is no regular file


@pytest.fixture
def irregular():
    """Return paths that must not be opened."""
    os.mkfifo("pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind("plug")
    Path("folder").mkdir()
    yield ["pipe", "plug", "/dev/zero", "/dev/urandom"]
    server.close()


def test_what_is_no_regular_file_is_not_opened(irregular, capsys):
    images = RNG.integers(256, size=(4, 3, 5, 5), dtype=np.uint8)
    np.savez("a.npz", images=images)
    fix = "is a pipe, a socket or a device: pass a regular file"
    for path in irregular:
        for command in ("fit", "info", "sample", "evaluate"):
            assert f"{path} {fix}" in told(capsys, command, path)
        assert f"{path} {fix}" in told(capsys, "inpaint", path, "mnist")
        assert f"{path} {fix}" in told(capsys, "fit", path, "--stream")
        assert f"{path} {fix}" in told(capsys, "fit", "a.npz", "--config", path)
        assert f"{path} {fix}" in told(capsys, "fit", "a.npz", "--observed", path)
    for suffix in ("csv", "npz", "npy", "parquet", "tar"):
        Path(f"pipe.{suffix}").symlink_to("pipe")
        flags = ["--stream"] if suffix in ("npy", "parquet", "tar") else []
        assert f"pipe.{suffix} {fix}" in told(capsys, "fit", f"pipe.{suffix}", *flags)


def test_a_folder_is_no_file(irregular, capsys):
    assert "folder is a folder: pass a file" in told(capsys, "fit", "x", "--config", "folder")
    for name in ("x.csv", "x.npz"):
        Path(name).mkdir()
    assert "x.csv is a folder: pass a file" in told(capsys, "fit", "x.csv")
    assert "x.npz has no images" in told(capsys, "fit", "x.npz")
    for path in ("photos/x.png", "runs/config.yaml", "runs/metrics.jsonl"):
        Path(path).parent.mkdir(exist_ok=True)
        os.mkfifo(path)
    assert "photos/x.png is a pipe" in told(capsys, "fit", "photos")
    assert "runs/config.yaml is a pipe" in told(capsys, "info", "runs")


# Arrays


IMAGES = RNG.integers(256, size=(20, 3, 5, 5), dtype=np.uint8)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def claims(shape):
    """Return an npz file whose header says more than it has."""
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            head, {"descr": "|u1", "fortran_order": False, "shape": shape}
        )
        archive.writestr("images.npy", head.getvalue() + bytes(100))
    return file.getvalue()


BAD_ARRAYS = {
    "empty": (b"", "not a complete npz file"),
    "cut off": (npz(images=IMAGES)[:900], "not a complete npz file"),
    "no zip": (b"something else", "not a complete npz file"),
    "damaged": (
        npz(images=IMAGES).replace(IMAGES.tobytes()[:9], b"?" * 9),
        "not a complete npz file",
    ),
    "objects": (npz(images=np.array([{}, 1], object)), "images of dtype object"),
    "floats": (npz(images=IMAGES / 255), "save bytes from 0 to 255"),
    "no images": (npz(images=IMAGES[:0]), "save at least one"),
    "a vector": (npz(images=IMAGES.ravel()), r"save bytes from 0 to 255, \(n, C, h, w\)"),
    "claims": (claims((10**6, 3, 1000, 1000)), "has images that is incomplete"),
    "other labels": (npz(images=IMAGES, labels=np.arange(19)), "for 20 images: save one for each"),
    "one-hot": (npz(images=IMAGES, labels=np.eye(20)), "for 20 images: save one for each"),
    "object labels": (npz(images=IMAGES, labels=np.array([None] * 20)), "labels of dtype object"),
    "NaN labels": (npz(images=IMAGES, labels=np.full(20, np.nan)), "has NaN or infinity"),
    "a pickle": (pickle.dumps({"images": IMAGES}), "not a complete npz file"),
    "an npy": (npy(IMAGES), "not a complete npz file"),
}


@pytest.mark.parametrize("kind", BAD_ARRAYS)
def test_a_bad_npz_file_is_named(kind):
    content, fix = BAD_ARRAYS[kind]
    Path("a.npz").write_bytes(content)
    with pytest.raises(FileError, match=rf"^a\.npz .*{fix}"):
        data.load("a.npz")


ROWS = RNG.normal(size=(300, 2))
BAD_STREAMS = {
    "empty": ("npy", b"", "not a complete npy file"),
    "cut off": ("npy", npy(ROWS)[:-1], "has x that is incomplete"),
    "no npy": ("npy", b"something else", "not a complete npy file"),
    "a zip": ("npy", npz(x=ROWS), "not a complete npy file"),
    "objects": ("npy", npy(np.array([[{}, 1]], object), allow_pickle=True), "x of dtype object"),
    "words": ("npy", npy(np.array([["a", "b"]])), "x of dtype <U1: save numbers"),
    "no rows": ("npy", npy(ROWS[:0]), "save rows"),
    "a vector": ("npy", npy(ROWS[:, 0]), r"save rows, \(n, d\)"),
    "NaN": ("npy", npy(np.where(ROWS > 1, np.nan, ROWS)), "has NaN or infinity"),
    "other rows": ("npz", npz(x=ROWS, labels=np.arange(299)), "save equally many rows"),
    "half an npz": ("npz", npz(x=ROWS)[:3000], "not a complete npz file"),
}


@pytest.mark.parametrize("kind", BAD_STREAMS)
def test_a_bad_array_is_named(kind):
    suffix, content, fix = BAD_STREAMS[kind]
    Path(f"a.{suffix}").write_bytes(content)
    with pytest.raises(FileError, match=rf"^a\.{suffix} .*{fix}"):
        data.stream(f"a.{suffix}").draw(Random(0, Draw.PROBE), 300)


def test_arrays_that_no_one_asks_for_may_be_anything():
    Path("a.npz").write_bytes(npz(images=IMAGES, more=np.array([{}, 1], object)))
    assert (data.load("a.npz").pixels == IMAGES).all()
    assert len(data.stream("a.npz")) == 20


def saved_parquet(**columns):
    parquet.write_table(pa.table(columns), "a.parquet")
    return Path("a.parquet").read_bytes()


@pytest.mark.parametrize("cut", [0, 3, 200, -1])
def test_a_parquet_file_that_is_cut_off(cut):
    content = saved_parquet(u=ROWS[:, 0])
    Path("a.parquet").write_bytes(content[:cut])
    with pytest.raises(FileError, match=r"^a\.parquet is not a complete Parquet file"):
        data.stream("a.parquet")


def test_columns_of_parquet_files():
    saved_parquet(u=[1.0, None], w=["a", "b"], n=[1.0, np.nan], k=[1.0, 2.0])
    for column, fix in (("u", "has missing values"), ("w", "is string, not numbers"), ("n", "NaN")):
        with pytest.raises(FileError, match=rf"a\.parquet.*{fix}"):
            data.stream("a.parquet", columns=[column]).draw(Random(0, Draw.PROBE), 2)
    x, y = data.stream("a.parquet", y=["w"], columns=["k"]).draw(Random(0, Draw.PROBE), 2)
    assert dict(zip(y, x[:, 0], strict=True)) == {"a": 1, "b": 2}
    saved_parquet(u=ROWS[:0, 0])
    with pytest.raises(ValueError, match=r"a\.parquet has no rows"):
        data.stream("a.parquet")


def tarred(path, mode="w", **files):
    with tarfile.open(path, mode) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name.replace("_", "."))
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return Path(path).read_bytes()


def test_tar_files():
    content = tarred("a.tar", one_png=WHOLE, one_cls=b"3")
    for cut in (0, 100, 2000):
        Path("a.tar").write_bytes(content[:cut])
        with pytest.raises(FileError, match=r"^a\.tar is not a complete plain tar file"):
            data.stream("a.tar")
    tarred("a.tar", "w:gz", one_png=WHOLE)
    with pytest.raises(FileError, match=r"^a\.tar is not a complete plain tar file"):
        data.stream("a.tar")
    tarred("a.tar", one_txt=b"no image")
    with pytest.raises(ValueError, match=r"a\.tar has no rows"):
        data.stream("a.tar")
    tarred("a.tar", one_png=WHOLE, one_cls=b"3", two_png=WHOLE)
    with pytest.raises(FileError, match=r"two\.png in a\.tar has no label"):
        data.stream("a.tar")


@pytest.mark.parametrize("content", [b"\x1f\x8bnothing", b"", b"?" * 5000])
def test_damaged_copies_of_data_sets(content):
    for name in ("mnist/train-images-idx3-ubyte.gz", "cifar-10-python.tar.gz"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content)
    for name in ("mnist", "cifar10"):
        with pytest.raises(ValueError, match="complete"):
            data.load(name, folder=".")


# Settings


BOMB = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(20)
)
BAD_SETTINGS = {
    "a bomb": (BOMB.encode(), "aliases"),
    "empty": (b"", "has no settings"),
    "a list": (b"- 1\n- 2\n", "has no settings"),
    "a word": (b"hello", "has no settings"),
    "numbers": (b"1: 2\n", "has no settings"),
    "binary": (bytes(range(256)) * 9, "not a complete YAML file"),
    "not closed": (b"data: [1, 2\n", "not a complete YAML file"),
    "deep": (b"data: " + b"[" * 30_000, "deep lists"),
    "large": (b"a" * (MAX_BYTES + 1), "too large for settings"),
    "no date": (b"data: 2020-99-99\n", "not a complete YAML file"),
}


@pytest.mark.parametrize("kind", BAD_SETTINGS)
def test_bad_settings_are_refused(kind, capsys):
    content, fix = BAD_SETTINGS[kind]
    Path("run").mkdir()
    Path("run/config.yaml").write_bytes(content)
    Path("some.csv").write_text("u,v\n1,2\n2,3\n")
    with pytest.raises(FileError, match=rf"^run/config\.yaml .*{fix}"):
        read_settings(Path("run/config.yaml"))
    line = told(capsys, "fit", "some.csv", "--config", "run/config.yaml")
    assert line.startswith("sliceflow fit: --config run/config.yaml ")
    assert fix in line
    for command in (["info", "run"], ["sample", "run"], ["evaluate", "run"]):
        assert "delete it, and fit with the same options" in told(capsys, *command)
    assert fix in told(capsys, "fit", "some.csv", "--out", "run", "--resume")


def test_a_huge_file_of_settings_is_not_read(capsys):
    with open("config.yaml", "wb") as file:
        file.truncate(10**8)
    assert "too large for settings (100000000 bytes)" in told(
        capsys, "fit", "--config", "config.yaml"
    )


@pytest.mark.parametrize(
    "text",
    ["schedule: quick\n", "data: [1, 2]\n", "data: some.csv\neffort: much\n", "data: x\nz: 1\n"],
)
def test_settings_of_something_else(text, capsys):
    Path("run").mkdir()
    Path("run/config.yaml").write_text(text)
    Path("some.csv").write_text("u,v\n1,2\n2,3\n")
    line = told(capsys, "fit", "some.csv", "--out", "run", "--resume")
    assert "run/config.yaml is damaged" in line
    assert "delete it, and fit with the same options" in line


def test_settings_do_not_name_others(capsys):
    Path("a.yaml").write_text("config: b.yaml\n")
    assert "a.yaml contains another --config" in told(capsys, "fit", "x", "--config", "a.yaml")


def test_a_run_that_ended_does_without_its_settings(capsys):
    Path("run").mkdir()
    Path("run/config.yaml").touch()
    SlicedFlow(schedule=1, random_state=0).fit(RNG.normal(size=(9, 2))).save("run/model.zip")
    for command in ("info", "evaluate"):
        assert "delete it, and use run/model.zip instead" in told(capsys, command, "run")
    main(["sample", "run", "--n", "3"])


# Metrics

LINE = {"step": 1, "seconds": 1.0, "distance": 1.0, "floor": 1.0}


@pytest.mark.parametrize(
    "bad", ["{", "[1]", '{"step": 2}', "\0\0", "[" * 10**5, "é".encode("latin-1")]
)
def test_damaged_metrics(bad, capsys):
    run = Run(Path("run"))
    run.folder.mkdir()
    run.config.write_text("data: some.csv\n")
    lines = [json.dumps(LINE | {"step": step}).encode() for step in (1, 2, 3)]
    lines.insert(1, bad if isinstance(bad, bytes) else bad.encode())
    run.metrics.write_bytes(b"\n".join(lines) + b'\n{"step"')
    assert "line 2 of run/metrics.jsonl is damaged: delete that line" in told(capsys, "info", "run")
    run.repair_metrics()
    assert [moment["step"] for moment in run.read_metrics()] == [1, 2, 3]


def test_huge_metrics_are_not_read():
    run = Run(Path())
    with run.metrics.open("wb") as file:
        file.truncate(10**8)
    with pytest.raises(FileError, match=r"metrics\.jsonl is too large.*delete it"):
        run.read_metrics()


def test_a_fit_goes_on_with_damaged_metrics_and_pictures():
    Path("photos").mkdir()
    for i in range(12):
        Path(f"photos/{i}.png").write_bytes(png(RNG.integers(256, size=(4, 4), dtype=np.uint8)))
    run = Run(Path("run"))
    run.picture(0).parent.mkdir(parents=True)
    run.picture(10**5).write_bytes(WHOLE[:500])
    run.config.write_text("data: photos\nschedule: quick\neffort: 0.05\n")
    run.metrics.write_text("junk\n" + json.dumps(LINE | {"step": 10**5}) + "\n")
    main(["fit", "--config", "run/config.yaml", "--out", "run", "--resume"])
    assert run.read_metrics()[-1]["step"] == 10**5
    assert run.film.exists()
    assert run.model.exists()


# Home


def test_local_data_needs_no_home(monkeypatch):
    Path("photos").mkdir()
    Path("photos/1.png").write_bytes(WHOLE)
    monkeypatch.delenv("SLICEFLOW_DATA", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setitem(sys.modules, "pwd", None)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert data.load("photos").shape == (3, 40, 40)
    with pytest.raises(FileNotFoundError, match="set SLICEFLOW_DATA to a folder"):
        data.load("mnist")


def test_a_data_folder_that_cannot_be_made():
    Path("file").touch()
    with pytest.raises(OSError, match=r"file/mnist cannot be created .* set SLICEFLOW_DATA"):
        data.load("mnist", folder="file")


def test_a_file_is_what_it_is():
    Path("a").touch()
    assert check_file(Path("a")) == Path("a")
