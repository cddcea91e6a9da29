"""Streams: the rows that files hold, drawn evenly, and ready when they are asked for."""

import io
import pickle
import tarfile

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from sliceflow import SlicedFlow
from sliceflow.core._random import Draw, Key, Random
from sliceflow.data import load, stream
from sliceflow.data._streams import Reader, StreamTarget
from sliceflow.metrics import sliced_wasserstein

N = 700


def images():
    """Return small images, each another one, and labels in their order: neighbours are alike."""
    pixels = np.random.default_rng(0).integers(256, size=(N, 3, 6, 5), dtype=np.uint8)
    return pixels, np.sort(np.random.default_rng(1).integers(3, size=N)).astype(str)


def save_npz(folder, pixels, labels):
    np.savez(folder / "data.npz", images=pixels, labels=labels)
    return stream(folder / "data.npz")


def save_folder(folder, pixels, labels):
    for i, (image, label) in enumerate(zip(pixels, labels, strict=True)):
        (folder / label).mkdir(exist_ok=True)
        Image.fromarray(image.transpose(1, 2, 0)).save(folder / label / f"{i:05}.png")
    return stream(folder)


def save_tars(folder, pixels, labels):
    for half in (0, 1):
        with tarfile.open(folder / f"{half}.tar", "w") as tar:
            for i in range(half * N // 2, (half + 1) * N // 2):
                file = io.BytesIO()
                Image.fromarray(pixels[i].transpose(1, 2, 0)).save(file, "PNG")
                for suffix, data in (("png", file.getvalue()), ("cls", labels[i].encode())):
                    info = tarfile.TarInfo(f"{i:05}.{suffix}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
    return stream(folder)


def save_parquet(folder, pixels, labels):
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(pixels)
    table = pa.table({"image": tensors, "kind": labels})
    parquet.write_table(table, folder / "data.parquet", row_group_size=100)
    return stream(folder / "data.parquet", y="kind")


def save_encoded(folder, pixels, labels):
    """As data sets of Hugging Face are: images as files in a column."""
    files = []
    for image in pixels:
        files.append(io.BytesIO())
        Image.fromarray(image.transpose(1, 2, 0)).save(files[-1], "PNG")
    column = [{"bytes": file.getvalue(), "path": None} for file in files]
    table = pa.table({"image": column, "label": labels})
    parquet.write_table(table, folder / "data.parquet", row_group_size=64)
    return stream(folder, y=["label"])


FORMATS = [save_npz, save_folder, save_tars, save_parquet, save_encoded]


@pytest.mark.parametrize("save", FORMATS, ids=lambda save: save.__name__[5:])
def test_all_rows_are_there(save, tmp_path):
    pixels, labels = images()
    data = save(tmp_path, pixels, labels)
    assert len(data) == N
    x, y = data.draw(Random(0, Draw.PROBE), N)
    rows = {image.tobytes(): label for image, label in zip(pixels, labels, strict=True)}
    assert {image.tobytes(): label for image, label in zip(x, y, strict=True)} == rows


def test_arrays_of_other_labels_are_others(tmp_path):
    """So that a checkpoint of the one is not gone on with by the other."""
    pixels, labels = images()
    one, same, other = (
        save_npz(tmp_path, pixels, y).blocks.digest() for y in (labels, labels, labels[::-1])
    )
    assert one == same != other


def table(tmp_path, n=5000):
    """Save a table."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    columns = {"u": x[:, 0], "v": x[:, 1] + rng.normal(size=n), "kind": (x[:, 0] > 1).astype(int)}
    parquet.write_table(pa.table(columns), tmp_path / "table.parquet", row_group_size=50)
    return tmp_path / "table.parquet", columns


def target_of(path, batch_size=600):
    plan = SlicedFlow(schedule=2, batch_size=batch_size, random_state=0).plan(
        stream(path, ["kind"])
    )
    (target,) = plan.flow.targets
    assert isinstance(target, StreamTarget)
    return target


def labels_of(target, key):
    return target.codec.condition.groups(target.batch(key)).float()


def test_shares_of_labels_belong_to_the_data(tmp_path):
    """A checkpoint of a balanced fit is not one of a fit that is not."""
    labels = np.array([0] * 90 + [1] * 10)
    np.savez(tmp_path / "data.npz", x=np.random.default_rng(0).normal(size=(100, 2)), labels=labels)
    plans = [
        SlicedFlow(balanced=is_balanced, random_state=0).plan(stream(tmp_path / "data.npz"))
        for is_balanced in (False, True)
    ]
    assert plans[0].flow.fingerprints() != plans[1].flow.fingerprints()


def test_a_batch_depends_on_its_key_alone(tmp_path):
    path, _ = table(tmp_path)
    one, other = target_of(path), target_of(path)
    keys = [Key(0, Draw.BATCH, 0, step) for step in range(4)]
    in_order = [one.batch(key, ahead) for key, ahead in zip(keys, [*keys[1:], None], strict=True)]
    alone = [other.batch(key) for key in reversed(keys)][::-1]
    assert all((a == b).all() for a, b in zip(in_order, alone, strict=True))
    assert not (alone[0] == alone[1]).all()


def test_labels_are_as_often_as_in_the_data(tmp_path):
    path, columns = table(tmp_path)
    target = target_of(path)
    shares = [labels_of(target, Key(i, Draw.BATCH)).mean() for i in range(20)]
    np.testing.assert_allclose(shares, columns["kind"].mean(), atol=1 / 600)


def spread(data, n=600):
    """Return how far means of batches are spread, by that of means of rows drawn one by one."""
    means = [data.draw(Random(i, Draw.PROBE), n)[0].mean() for i in range(300)]
    whole, _ = data.draw(Random(0, Draw.PROBE), len(data))
    return np.std(means) / np.std(whole) * n**0.5


def test_batches_are_as_good_as_rows_drawn_one_by_one(tmp_path):
    """In order or not, where rows are read one by one; if not in order, where groups of them are.

    The rows of a group that is in order are as good as one: 600 of 64 groups as good as 64.
    """
    x = np.random.default_rng(0).normal(size=20_000)
    np.save(tmp_path / "sorted.npy", np.sort(x)[:, None])
    assert spread(stream(tmp_path / "sorted.npy")) < 1.1
    for name, column in {"mixed": x, "sorted": np.sort(x)}.items():
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(pa.table({"x": column}), path, row_group_size=50)
    assert spread(stream(tmp_path / "mixed.parquet")) < 1.1
    assert 2 < spread(stream(tmp_path / "sorted.parquet")) < 1.1 * (600 / 64) ** 0.5


def test_what_is_read_ahead_is_not_read_again():
    reader, read = Reader(), []
    reader.begin("a", lambda: read.append("a") or 1)
    assert reader.take("a", lambda: 2) == 1
    assert read == ["a"]


def test_a_streamed_fit_is_like_one_in_memory(tmp_path):
    path, columns = table(tmp_path)
    x = np.stack([columns["u"], columns["v"]], axis=1)
    settings = {"schedule": 60, "n_particles": 2000, "batch_size": 2000, "random_state": 0}
    given = columns["kind"]
    streamed = (
        SlicedFlow(**settings).fit(stream(path, y=["kind"])).sample(2000, y=0, random_state=0)
    )
    whole = SlicedFlow(**settings).fit(x, given).sample(2000, y=0, random_state=0)
    ours, theirs = (sliced_wasserstein(rows, x[given == 0][:2000]) for rows in (streamed, whole))
    assert ours < 1.3 * theirs


def test_images_are_streamed(tmp_path):
    """Each stage sees a batch of its own, read while the one before it goes on."""
    pixels, labels = images()
    data = save_npz(tmp_path, pixels, labels)
    settings = {"n_particles": 50, "batch_size": 100, "random_state": 0}
    model = SlicedFlow(schedule="quick", **settings).fit(data, shards=2)
    assert model.particles_.shape == (50, 3, 6, 5)
    assert set(model.classes_) == set(labels)


def test_wrong_streams(tmp_path):
    with pytest.raises(FileNotFoundError, match="neither a folder"):
        stream(tmp_path / "nothing")
    np.savez_compressed(tmp_path / "small.npz", x=np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"numpy\.savez"):
        stream(tmp_path / "small.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="holds a"):
        stream(tmp_path / "other.npz")
    path, _ = table(tmp_path)
    with pytest.raises(ValueError, match="it has u, v, kind"):
        SlicedFlow().fit(stream(path, y=["sort"]))
    np.savez(tmp_path / "data.npz", x=np.random.default_rng(0).normal(size=(30, 2)))
    with pytest.raises(ValueError, match="leave it out"):
        SlicedFlow().fit(stream(tmp_path / "data.npz"), np.zeros(30))


def test_a_folder_is_loaded_or_streamed_alike(tmp_path):
    pixels, labels = images()
    data = save_folder(tmp_path, pixels, labels)
    whole = load(tmp_path)
    x, y = data.draw(Random(0, Draw.PROBE), N)
    assert sorted(map(bytes, x)) == sorted(map(bytes, whole.pixels))
    assert sorted(y) == sorted(np.array(whole.classes)[whole.labels])


def save_numbers(folder, y):
    """Write 700 rows of two columns x, and columns y, and return them as a stream."""
    x = np.random.default_rng(0).normal(size=(N, 2))
    np.savez(folder / "numbers.npz", x=x, labels=y)
    return stream(folder / "numbers.npz")


def test_conditions_have_the_shape_of_y(tmp_path):
    y = np.random.default_rng(1).normal(size=(N, 2))
    model = SlicedFlow(schedule=2, random_state=0).fit(save_numbers(tmp_path, y))
    assert model.conditions_.shape == (5 * N, 2)


def test_numbers_that_are_alike_in_a_batch(tmp_path):
    """A batch of few rows may have one value of y alone, which is no reason to end."""
    y = np.where(np.arange(N) == 0, 0.5, 0.25)
    SlicedFlow(schedule=3, batch_size=8, random_state=0).fit(save_numbers(tmp_path, y))


def test_a_fit_to_a_stream_can_be_pickled(tmp_path):
    y = np.random.default_rng(1).normal(size=N)
    model = SlicedFlow(schedule=2, random_state=0).fit(save_numbers(tmp_path, y))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(*(m.sample(5, 0.0, random_state=0) for m in (again, model)))


@pytest.mark.parametrize(
    ("y", "columns"),
    [(["prize"], []), ([], ["y"]), (["labels", "x"], []), ([], ["x", "labels"])],
)
def test_arrays_that_are_not_there_are_refused(y, columns, tmp_path):
    save_numbers(tmp_path, np.arange(N) % 2)
    with pytest.raises(ValueError, match=r"holds x, labels: pass one of these"):
        stream(tmp_path / "numbers.npz", y, columns)


def test_images_have_no_columns(tmp_path):
    save_folder(tmp_path, *images())
    with pytest.raises(ValueError, match="pass only label as y"):
        stream(tmp_path, y=["age"])


def test_a_label_that_is_too_rare_to_be_found(tmp_path, monkeypatch):
    monkeypatch.setattr("sliceflow.estimator._PROBED", 50)
    y = np.where(np.arange(N) < 3, 2, np.arange(N) % 2)
    with pytest.raises(ValueError, match="merge rare labels"):
        SlicedFlow(schedule=2, random_state=0).fit(save_numbers(tmp_path, y))
