"""The server: it gives the samples of the library, and refuses everything else in plain words."""

import base64
import io
import json
import socket
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from mixed_table import mixed
from PIL import Image
from serving import serving

from sliceflow import Exact, SlicedFlow, SlicedTable, Stage, load
from sliceflow.cli import main
from sliceflow.core._validation import MAX_SEED
from sliceflow.serve._filling import Filling
from sliceflow.serve._flows import FlowService, FlowWork, filled

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(256, size=(200, 1, 6, 6)).astype(np.uint8)
LABELS = np.array(["cat", "dog"])[RNG.integers(2, size=200)]
X = pd.DataFrame(RNG.normal(size=(300, 2)), columns=["u", "v"])
Y = pd.DataFrame({"place": ["sea", "hill"] * 150, "height": RNG.normal(size=300)})
NOISY = Exact(5, entropy=0.01)


def images(**settings):
    schedule = (Stage(2, 4, 4), Stage(2, 6, 3))
    return SlicedFlow(schedule=schedule, n_particles=150, random_state=0, **settings)


def table(**settings):
    return SlicedFlow(schedule=6, n_particles=150, random_state=0, **settings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of models of every kind."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "people.csv").write_text(mixed()[["city", "age", "height"]].to_csv(index=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        images().fit(IMAGES, LABELS).save(folder / "pets.zip")
        images(observed="left").fit(IMAGES).save(folder / "halves.zip")
        table().fit(X, Y).save(folder / "places.zip")
        table(engine=NOISY).fit(X).save(folder / "noisy.zip")
        table(observed=[True, False]).fit(X).save(folder / "given.zip")
        SlicedTable(random_state=0).fit(mixed()).save(folder / "mixed.zip")
        main(
            ["fit", str(folder / "people.csv"), "--out", str(folder / "people"), "--random-state=0"]
        )
    (folder / "people" / "model.zip").rename(folder / "people.zip")
    return folder


@pytest.fixture(scope="module")
def models(folder):
    return {path.stem: load(path) for path in sorted(folder.glob("*.zip"))}


@pytest.fixture(scope="module")
def client(models):
    with serving(models, n=3000, body=10_000) as client:
        yield client


def png(image):
    file = io.BytesIO()
    Image.fromarray(image[0]).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def test_it_describes_its_models(client):
    status, _, content = client("GET", "/v1/models")
    told = json.loads(content)
    about = {model["name"]: model for model in told["models"]}
    assert status == 200
    assert told["limits"] == {"n": 3000, "body_bytes": 10_000, "seconds": 60}
    assert about["pets"]["given"] == {"type": "label", "labels": ["cat", "dog"]}
    assert about["pets"]["shape"] == [1, 6, 6]
    assert about["halves"]["does"] == ["inpaint"]
    place, height = about["places"]["given"]["columns"]
    assert place == {"name": "place", "values": ["hill", "sea"]}
    assert (height["min"], height["max"]) == (Y.height.min(), Y.height.max())
    assert [column["name"] for column in about["given"]["given"]["columns"]] == ["u"]
    city = about["people"]["given"]["columns"][0]
    assert city == {"name": "city", "type": "words", "values": ["Oslo", "Paris", "Rome"]}
    assert json.loads(client("GET", "/v1/models/pets")[2]) == about["pets"]


def test_samples_are_those_of_the_library(client, models):
    pets = client.post("pets/samples", n=300, seed=1, given="cat")
    assert np.array_equal(pets["images"], models["pets"].sample(300, "cat", 1))
    assert set(pets["labels"]) == {"cat"}
    given = {"height": 0.5, "place": "sea"}
    places = client.post("places/samples", n=7, seed=2, given=given)
    expected = models["places"].sample(7, [["sea", 0.5]] * 7, 2)
    assert np.array_equal([row[:2] for row in places["rows"]], expected)
    assert places["columns"] == ["u", "v", "place", "height"]
    assert places["rows"][0][2:] == ["sea", 0.5]
    noisy = client.post("noisy/samples", n=2500, seed=3)
    assert np.array_equal(noisy["rows"], models["noisy"].sample(2500, random_state=3))
    rows = client.post("given/samples", n=4, seed=4, given={"u": 0.25})["rows"]
    assert np.array_equal(rows, models["given"].sample(4, [0.25, np.nan], 4))


def test_without_given_there_are_as_many_of_each_label(client):
    assert client.post("pets/samples", n=5)["labels"] == ["cat"] * 3 + ["dog"] * 2
    each = ["dog", "cat", "dog"]
    assert client.post("pets/samples", n=3, given=each)["labels"] == each


@pytest.mark.parametrize("name", ["pets", "people"])
def test_the_largest_seed(client, name):
    """JSON has numbers of any size, and so have seeds."""
    assert client.post(f"{name}/samples", n=2, seed=MAX_SEED)["seed"] == MAX_SEED


def test_a_seed_that_is_drawn_is_told(client):
    first = client.post("pets/samples", n=3)
    again = client.post("pets/samples", n=3, seed=first["seed"])
    assert again == first
    assert client.post("pets/samples", n=3)["images"] != first["images"]
    _, headers = client.file("pets/samples", n=3, seed=7, format="npz")
    assert headers["Sliceflow-Seed"] == "7"


def test_requests_at_the_same_time_keep_their_bits(client, models):
    sizes = [1, 3, 300, 256, 40, 7, 700, 2] * 4

    def ask(seed):
        name = ("pets", "places", "noisy", "mixed")[seed % 4]
        given = {"places": {"height": 0.1 * (seed % 7), "place": "hill"}}.get(name)
        return name, client.post(f"{name}/samples", n=sizes[seed], seed=seed, given=given)

    with ThreadPoolExecutor(16) as pool:
        for name, together in pool.map(ask, range(len(sizes))):
            given = None
            if name == "places":
                given = {"height": 0.1 * (together["seed"] % 7), "place": "hill"}
            body = {"n": together["n"], "seed": together["seed"], "given": given}
            assert client.post(f"{name}/samples", **body) == together
            if name == "pets":
                y = np.sort(np.resize(models["pets"].codec.classes, together["n"]))
                expected = models["pets"].sample(together["n"], y, together["seed"])
                assert np.array_equal(together["images"], expected)


@pytest.mark.parametrize(
    ("whole", "expected"),
    [(False, [[10, 100, 146], [254]]), (True, [[10], [100]])],
)
def test_small_requests_share_a_group(whole, expected):
    """They take turns, by at most a batch, until two groups of 256 are full."""
    works = [FlowWork(None, 0, torch.empty(0, n), None, []) for n in (10, 100, 400)]
    groups = filled(works, 256, 2, whole)
    assert [[len(part) for _, part in group] for group in groups] == expected
    assert [part.first for _, part in groups[-1]][-1] == (0 if whole else 146)


@pytest.mark.parametrize(("times", "extra"), [(1, -1), (1, 5), (2, 5)])
def test_a_round_is_full_or_has_all(models, times, extra):
    """256 samples or twice as many for each thread; less only if nothing is left."""
    model, full = models["pets"], 256 * torch.get_num_threads()
    service, n = FlowService("pets", model), times * full + extra
    work = FlowWork(service, 0, model.codec.given(n, "cat"), lambda x: x, [])
    assert service.has_room([work]) == (n < full)
    service.advance([work])
    assert work.n_drawn == min(n, times * full)


def test_files_are_those_of_the_command_line(client, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, kind, more in (
        ("pets", "png", []),
        ("pets", "npz", []),
        ("noisy", "csv", []),
        ("people", "csv", ["--given", "city=Oslo,age=30..60"]),
        ("mixed", "csv", []),
    ):
        command = ["sample", str(folder / f"{name}.zip"), "--n", "20", "--random-state", "5"]
        main([*command, *more, "--out", f"a.{kind}"])
        given = {"city": "Oslo", "age": {"from": 30, "to": 60}} if more else None
        content, _ = client.file(f"{name}/samples", n=20, seed=5, format=kind, given=given)
        own = (tmp_path / f"a.{kind}").read_bytes()
        if kind == "npz":  # whose zip has the time
            ours, theirs = np.load(io.BytesIO(content)), np.load(io.BytesIO(own))
            assert all(np.array_equal(ours[key], theirs[key]) for key in theirs)
        else:
            assert content == own


def test_arrow(client):
    stream, _ = client.file("pets/samples", n=5, seed=1, format="arrow")
    read = pa.ipc.open_stream(stream).read_all()
    pixels = read["image"].combine_chunks().to_numpy_ndarray()
    pets = client.post("pets/samples", n=5, seed=1)
    assert np.array_equal(pixels, pets["images"])
    assert read["label"].to_pylist() == pets["labels"]
    stream, _ = client.file("people/samples", n=5, seed=1, format="arrow")
    people = client.post("people/samples", n=5, seed=1)
    rows = pa.ipc.open_stream(stream).read_all().to_pylist()
    assert [list(row.values()) for row in rows] == people["rows"]


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({"age": 30}, lambda row: row["age"] == 30),
        ({"age": {"from": 30, "to": 40}}, lambda row: 30 <= row["age"] <= 40),
        ({"age": {"from": 60}}, lambda row: row["age"] >= 60),
        ({"city": {"any": ["Oslo", "Rome"]}}, lambda row: row["city"] in ("Oslo", "Rome")),
        ({"height": None}, lambda row: row["height"] is None),
    ],
)
@pytest.mark.parametrize("name", ["people", "mixed"])
def test_given(client, name, given, holds):
    answer = client.post(f"{name}/samples", n=20, given=given)
    rows = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
    assert len(rows) == 20
    assert all(holds(row) for row in rows)


def test_values_of_a_table_in_json(client, models):
    answer = client.post("mixed/samples", n=50, seed=3)
    expected = models["mixed"].sample(50, random_state=3)
    rows = pd.DataFrame(answer["rows"], columns=answer["columns"])
    assert list(rows.columns) == list(expected.columns)
    assert rows["age"].tolist() == expected["age"].tolist()
    assert rows["city"].isna().tolist() == expected["city"].isna().tolist()
    assert (pd.to_datetime(rows["since"]) == expected["since"])[~rows["since"].isna()].all()


def test_beyond_the_data_there_is_a_warning(client):
    answer = client.post("places/samples", n=1, given={"place": "sea", "height": 99})
    assert "height is given beyond the data" in answer["warnings"][0]
    body = {"n": 1, "format": "csv", "given": {"age": 999}}
    _, headers = client.file("people/samples", **body)
    assert "age is given beyond the data" in headers["Sliceflow-Warning"]


def test_inpaint(client, models):
    body = {"images": [png(image) for image in IMAGES[:3]], "n": 2, "seed": 1}
    found = np.array(client.post("halves/inpaint", **body)["images"])
    assert np.array_equal(found, models["halves"].inpaint(IMAGES[:3], 2, 1))
    arrays = np.load(io.BytesIO(client.file("halves/inpaint", **body, format="npz")[0]))
    assert np.array_equal(arrays["images"], found.reshape(6, 1, 6, 6))
    picture = Image.open(io.BytesIO(client.file("halves/inpaint", **body, format="png")[0]))
    assert picture.size == (4 * 8 * 10 - 2 * 10, 3 * 8 * 10 - 2 * 10)  # zoomed by 10, less a gap


def test_impute(client):
    there = [{"city": "Oslo"}, {"age": 30, "height": 1234.5}, {}, {"city": None, "age": 44}]
    answer = client.post("people/impute", rows=there, n=3, seed=1)
    assert answer["columns"] == ["city", "age", "height"]
    assert answer["n"] == 12
    for row, completed in zip(there, answer["rows"], strict=True):
        assert len(completed) == 3
        for values in completed:
            filled = dict(zip(answer["columns"], values, strict=True))
            assert None not in values
            assert {k: filled[k] for k, v in row.items() if v is not None} == {
                k: v for k, v in row.items() if v is not None
            }
    assert client.post("people/impute", rows=there, n=3, seed=1) == answer
    text, _ = client.file("people/impute", rows=there, format="csv")
    assert text.decode().splitlines()[0] == "city,age,height"
    assert len(text.decode().splitlines()) == 5


def test_gaps_are_filled_as_rows_are_drawn():
    """Where the columns that are there tell the others, they do so here too."""
    u = RNG.integers(5, size=2000)
    frame = pd.DataFrame({"u": u, "v": 10 * u, "w": np.where(u > 2, "large", "small")})
    filling = Filling(SlicedTable(random_state=0).fit(frame).model_)
    rows = filling.read([{"v": 10.0 * i} for i in range(5)]).repeat(20)
    drawn = filling.draw(rows, seed=0)
    assert np.mean(drawn["v"] == 10 * drawn["u"]) > 0.95
    assert np.mean(drawn["w"] == np.where(drawn["u"] > 2, "large", "small")) > 0.95


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("nobody/samples", {}, 404, "there is no model of this name"),
        ("pet/samples", {}, 404, "did you mean pets?"),
        ("../../etc/passwd/samples", {}, 404, "Not Found"),
        ("%2e%2e%2fpets/samples", {}, 404, "Not Found"),
        ("pets/samples", {"n": 0}, 422, "n: Input should be greater than or equal to 1"),
        ("pets/samples", {"n": "5"}, 422, "n: Input should be a valid integer"),
        ("pets/samples", {"n": 3001}, 422, "more than 3000"),
        ("pets/samples", {"m": 3}, 422, "m: Extra inputs are not permitted"),
        ("pets/samples", {"seed": -1}, 422, "seed: Input should be greater than"),
        ("pets/samples", {"seed": 2**128}, 422, "seed: Input should be less than"),
        (
            "pets/samples",
            {"given": "cow"},
            422,
            "unknown labels ['cow']: the model has ['cat'",
        ),
        ("pets/samples", {"given": {"y": "cat"}}, 422, "give one, such as given=7"),
        ("pets/samples", {"given": ["cat"] * 3, "n": 2}, 422, "y has"),
        ("pets/samples", {"given": "\ud800"}, 422, ""),
        ("pets/samples", {"format": "csv"}, 422, "use one of json, png, npz, arrow"),
        ("pets/samples", {"format": "gif"}, 422, "format: Input should be 'json'"),
        ("pets/inpaint", {"images": ["a"]}, 422, "fit one with observed"),
        ("pets/impute", {"rows": [{}]}, 422, "fills no gaps of rows"),
        ("halves/samples", {}, 422, "send some to /inpaint"),
        ("halves/inpaint", {"images": []}, 422, "images: List should have at least 1 item"),
        ("halves/inpaint", {"images": ["?"]}, 422, "image 0 is not a complete PNG file in base64"),
        ("halves/inpaint", {"images": ["aaaa"]}, 422, "image 0 is not a complete PNG file"),
        ("halves/inpaint", {"images": [png(np.zeros((1, 7, 6), np.uint8))]}, 422, "send 6x6"),
        ("halves/inpaint", {"images": ["a"] * 4, "n": 1000}, 422, "4000 samples are more than"),
        ("places/samples", {}, 422, "give one value of each of place, height, by name"),
        ("places/samples", {"given": {"place": "sea"}}, 422, "give one value of each"),
        ("places/samples", {"given": {"size": 1}}, 422, "'size' is not given to this model"),
        ("places/samples", {"given": ["sea", "high"]}, 422, "height is a number: give one"),
        ("places/samples", {"given": ["cave", 1]}, 422, "unknown labels ['cave']"),
        ("places/samples", {"given": {"place": "sea", "height": {"from": 1}}}, 422, "is a number"),
        ("noisy/samples", {"given": 3}, 422, "leave out given"),
        ("people/samples", {"given": 3}, 422, "give values by column"),
        ("people/samples", {"given": {"town": 3}}, 422, "there is no column 'town'"),
        ("people/samples", {"given": {"city": "Bonn"}}, 422, "city is never 'Bonn'"),
        ("people/samples", {"given": {"age": "old"}}, 422, "age cannot be 'old'"),
        ("people/samples", {"given": {"age": 2**62 * 10}}, 422, ""),
        ("people/samples", {"given": {"city": {"from": "A"}}}, 422, "words without an order"),
        (
            "people/samples",
            {"given": {"age": {"any": []}}},
            422,
            "given.age.any: List should",
        ),
        ("people/samples", {"format": "npz"}, 422, "use one of json, csv, arrow"),
        ("people/impute", {"rows": [{"town": 1}]}, 422, "there is no column 'town'"),
        ("people/impute", {"rows": []}, 422, "rows: List should have at least 1 item"),
        ("people/inpaint", {"images": ["a"]}, 422, "send rows to /impute"),
    ],
)
def test_errors_name_the_fix(client, path, body, status, said):
    assert client.refused(path, **body)[0] == status
    assert said in client.refused(path, **body)[1]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b"", 422),
        (b'{"n": NaN}', 422),
        (b'{"given": {"age": Infinity}}', 422),
        (b"[" * 5000, 400),
        (b"\xff\xfe", 422),
        (b" " * 10_001, 413),
    ],
)
def test_bodies_that_are_not_json(client, body, status):
    kind = {"Content-Type": "application/json"}
    found, headers, content = client("POST", "/v1/models/people/samples", body, **kind)
    assert (found, headers["Content-Type"]) == (status, "application/problem+json"), content


def test_a_large_body_is_refused_while_it_arrives(client):
    """Also if it does not say how large it is."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
        head = (
            "POST /v1/models/pets/samples HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(head.encode() + b"4000\r\n" + b" " * 0x4000 + b"\r\n")
        assert b" 413 " in connection.recv(1000)


def test_other_paths_and_methods(client):
    assert client("GET", "/healthz")[::2] == (200, b'{"status":"ok"}')
    assert client("GET", "/")[0] == 200
    assert client("GET", "/static/index.html")[0] == 404
    assert client("GET", "/v1/models/pets/samples")[0] == 405
    assert client("GET", "/docs")[0] == 404  # it would load scripts from elsewhere
    paths = json.loads(client("GET", "/openapi.json")[2])["paths"]
    answers = paths["/v1/models/{name}/samples"]["post"]["responses"]
    assert {"200", "404", "413", "422", "429", "503", "504"} <= set(answers)


def test_models_of_images_have_a_page(client, tmp_path):
    index = client("GET", "/")[2].decode()
    assert '<a href="/pages/pets/">' in index
    assert "/pages/people/" not in index  # a table has none
    status, headers, page = client("GET", "/pages/pets/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"<h1>pets</h1>" in page
    assert "javascript" in client("GET", "/pages/pets/page.js")[1]["Content-Type"]
    (tmp_path / "model.zip").write_bytes(client("GET", "/pages/pets/model.zip")[2])
    assert load(tmp_path / "model.zip").shape == (1, 6, 6)
    for path in ("people/", "pets/none.js", "pets/../people/", "pets/%2e%2e/%2e%2e/etc/passwd"):
        assert client("GET", f"/pages/{path}")[0] == 404


def test_metrics(client):
    client.post("people/samples", n=11)
    page = client("GET", "/metrics")[2].decode()
    assert 'sliceflow_requests_total{route="/v1/models/{name}/samples",status="200"}' in page
    assert 'sliceflow_samples_total{model="people"}' in page
    assert "sliceflow_queue_length 0.0" in page
    assert "nobody" not in page  # labels are not made of what clients send


def test_the_token(models):
    with serving({"pets": models["pets"]}, token="secret") as client:
        assert client("GET", "/v1/models")[0] == 200
        for wrong in ("Bearer secre", "Bearer secrets", "secret", "", "Bearer \xff"):
            status, headers, _ = client("GET", "/v1/models", Authorization=wrong)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        client.token = None
        assert client("POST", "/v1/models/pets/samples", {})[0] == 401
        assert client("GET", "/metrics")[0] == 401
        assert client("GET", "/healthz")[0] == client("GET", "/")[0] == 200
        assert client("GET", "/pages/pets/model.zip")[0] == 404  # pages cannot send the token


MANY = 1_000_000
"""More samples than any machine draws in a round."""


class Slow:
    """A model that takes its time for each batch."""

    def __init__(self, model, seconds):
        self.model, self.seconds, self.drawn = model, seconds, 0

    def __getattr__(self, name):
        return getattr(self.model, name)

    def sample_parts(self, groups, **options):
        time.sleep(self.seconds)
        self.drawn += 1
        return self.model.sample_parts(groups, **options)


def test_a_full_queue(models):
    slow = Slow(models["noisy"], 0.3)
    with serving({"slow": slow}, queue=2) as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client("POST", "/v1/models/slow/samples", {}), range(8)))
        statuses = [status for status, *_ in answers]
        assert set(statuses) == {200, 429}
        for status, headers, _ in answers:
            assert status == 200 or int(headers["Retry-After"]) >= 1


def test_a_request_that_takes_too_long(models):
    slow = Slow(models["noisy"], 0.2)
    with serving({"slow": slow}, seconds=0.5, n=MANY) as client:
        status, said = client.refused("slow/samples", n=MANY)
        assert (status, "more than 0.5 s" in said) == (504, True)
        time.sleep(0.5)
        drawn = slow.drawn
        time.sleep(0.5)
        assert slow.drawn == drawn <= 4  # the rest is dropped
        slow.seconds = 0
        assert client.post("slow/samples", n=3)["n"] == 3


def test_the_work_of_a_client_who_leaves_is_dropped(models):
    slow = Slow(models["noisy"], 0.2)
    with serving({"slow": slow}, n=MANY) as client:
        body = json.dumps({"n": MANY}).encode()
        with socket.create_connection(("127.0.0.1", client.port)) as connection:
            head = (
                f"POST /v1/models/slow/samples HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}"
            )
            kind = "\r\nContent-Type: application/json\r\n\r\n"
            connection.sendall((head + kind).encode() + body)
            time.sleep(0.5)
        time.sleep(0.5)
        drawn = slow.drawn
        assert drawn >= 1
        time.sleep(0.5)
        assert slow.drawn == drawn
        assert 'status="499"} 1.0' in client("GET", "/metrics")[2].decode()


def test_large_requests_do_not_hold_up_small_ones(models):
    """Even if there are more of them than a round has room for."""
    slow = Slow(models["noisy"], 0.05)
    with (
        serving({"slow": slow, "people": models["people"]}, n=100_000) as client,
        ThreadPoolExecutor(4) as pool,
    ):
        large = [pool.submit(client.post, "slow/samples", n=100_000) for _ in range(4)]
        time.sleep(0.3)
        assert client.post("slow/samples", n=1)["n"] == 1
        assert client.post("people/samples", n=1)["n"] == 1
        assert not any(one.done() for one in large)
        assert [one.result()["n"] for one in large] == [100_000] * 4


def test_a_request_that_fails_does_not_fail_others(models):
    class Fragile(Slow):
        def sample_parts(self, groups, **options):
            time.sleep(0.2)
            if any(part.seed == 13 for group in groups for part in group):
                raise ValueError("unlucky")
            return self.model.sample_parts(groups, **options)

    with serving({"pets": Fragile(models["pets"], 0)}) as client, ThreadPoolExecutor(4) as pool:
        answers = pool.map(
            lambda seed: client("POST", "/v1/models/pets/samples", {"seed": seed, "n": 2}),
            [11, 12, 13, 14],
        )
        assert [status for status, *_ in answers] == [200, 200, 422, 200]
