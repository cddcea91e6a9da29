"""A messy file goes through all commands without one manual repair."""

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mixed_table import mixed

import sliceflow
from sliceflow.cli import main
from sliceflow.data._tables import load_csv

CITIES = ["Paris", "Oslo", "São Paulo", '"Big" Apple']


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a messy file, and a run of it."""
    folder = tmp_path_factory.mktemp("messy")
    write_messy(folder / "people.csv", 600)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.chdir(folder)
        warnings.simplefilter("default")
        main(["fit", "people.csv", "--random-state", "0"])
    return folder


def write_messy(path, n):
    """Write semicolons, a byte-order mark, quotes, dates, ids, constants, gaps, and an outlier."""
    rng = np.random.default_rng(0)

    def maybe(text):
        return "" if rng.random() < 0.1 else text

    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["id", "city", "joined", "age", "height", "zip", "country", "note"])
        for i in range(n):
            day = f"{rng.integers(1, 29):02}.{rng.integers(1, 13):02}.{rng.integers(2015, 2024)}"
            age = 999_999 if i == 77 else rng.integers(18, 80)
            height = f"{rng.normal(170, 8):.2f}".replace(".", ",")
            code = f"{rng.integers(0, 5):05}"
            city = maybe(rng.choice(CITIES))
            writer.writerow([10_000 + i, city, maybe(day), age, maybe(height), code, "FR", ""])


@pytest.fixture
def here(place, monkeypatch):
    monkeypatch.chdir(place)


def columns(path):
    return {name: column.tolist() for name, column in load_csv(Path(path)).columns.items()}


@pytest.mark.usefixtures("here")
def test_samples_are_written_as_the_data():
    drawn, data = columns("runs/people/samples.csv"), columns("people.csv")
    assert Path("runs/people/samples.csv").read_text().startswith("city;joined;age;")
    assert list(drawn) == ["city", "joined", "age", "height", "zip", "country"]
    assert set(drawn["city"]) == set(CITIES)
    assert set(drawn["zip"]) == set(data["zip"])
    assert all(len(day) == 10 and day[2] == "." for day in drawn["joined"])
    assert all(len(height.partition(",")[2]) == 2 for height in drawn["height"])
    ages = np.array([int(age) for age in drawn["age"]])
    truth = np.array([int(age) for age in data["age"]])
    assert np.quantile(ages, [0.05, 0.95]) == pytest.approx(np.quantile(truth, [0.05, 0.95]), abs=3)


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ("city=Oslo,age=30..40", lambda row: row["city"] == "Oslo" and 30 <= int(row["age"]) <= 40),
        ("city=Oslo|Paris", lambda row: row["city"] in ("Oslo", "Paris")),
        ('city="Big" Apple', lambda row: row["city"] == '"Big" Apple'),
        ("joined=01.02.2016", lambda row: row["joined"] == "01.02.2016"),
        ("joined=01.02.2020..", lambda row: row["joined"][6:] >= "2020"),
        ("zip=00003", lambda row: row["zip"] == "00003"),
    ],
)
@pytest.mark.usefixtures("here")
def test_given(given, holds):
    main(["sample", "runs/people", "--given", given, "--n", "20", "--out", "given.csv"])
    drawn = columns("given.csv")
    rows = [dict(zip(drawn, row, strict=True)) for row in zip(*drawn.values(), strict=True)]
    assert len(rows) == 20
    assert all(holds(row) for row in rows)


@pytest.mark.usefixtures("here")
def test_evaluate(capsys):
    main(["evaluate", "runs/people", "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert 0.4 < figures["C2ST"] < 0.6
    assert 0.8 < figures["nearest row of data, relative"] < 1.5
    main(["evaluate", "people.csv", "--data", "people.csv", "--json"])
    assert json.loads(capsys.readouterr().out)["nearest row of data, relative"] < 0.1  # copies


@pytest.mark.usefixtures("here")
def test_info(capsys):
    main(["info", "runs/people"])
    assert "| joined | dates or times |" in capsys.readouterr().out


@pytest.mark.usefixtures("here")
def test_the_model_is_one_file():
    model = sliceflow.load("runs/people/model.zip")
    assert len(model.sample(7, {"city": "Oslo"})) == 7


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("sample runs/people --given town=Oslo", "there is no column 'town': choose from"),
        ("sample runs/people --given city", "write a name and a value, such as age=30"),
        ("sample runs/people --given joined=2016", "'2016' does not match format"),
        ("sample runs/people --y Oslo", "pass --given with names"),
        ("sample runs/people --out a.png", "it has to end in .csv"),
        ("fit people.csv --schedule quick --out x", "--schedule is not for tables without --y"),
        ("fit people.csv --columns city,town --out x", "has no column 'town'"),
        ("fit people.csv --types age --out x", "write a name and a type, such as zip=words"),
        ("fit people.csv --types agee=words --out x", "types names a column 'agee'"),
        ("fit people.csv --columns age --types age=wrods --out x", "cannot be of type 'wrods'"),
        ("fit people.csv --y age --types age=words --out x", "for tables fitted without --y"),
        ("fit people.csv --update nowhere.csv --out x", "nowhere.csv"),
        ("inpaint runs/people people.csv", "is a model of a table"),
    ],
)
@pytest.mark.usefixtures("here")
def test_errors_name_the_fix(command, message, capsys):
    with pytest.raises(SystemExit):
        main(command.split())
    assert message in capsys.readouterr().err


def test_rows_that_come_later(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, start in [("old", 0), ("new", 50)]:
        rows = [f"{start + i % 40},{'ab'[i % 2]}" for i in range(200)]
        Path(f"{name}.csv").write_text("\n".join(["u,v", *rows]))
    main(["fit", "old.csv", "--random-state", "0"])
    assert max(map(int, columns("runs/old/samples.csv")["u"])) < 50
    main(["fit", "old.csv", "--update", "new.csv"])
    updated = columns("runs/old/samples.csv")
    assert 0.4 < np.mean([int(u) >= 50 for u in updated["u"]]) < 0.6
    main(["fit", "old.csv", "--update", "new.csv", "--random-state", "0", "--out", "runs/both"])
    assert columns("runs/both/samples.csv") == updated
    with pytest.raises(SystemExit):
        main(["fit", "new.csv", "--update", "old.csv", "--out", "runs/old"])
    assert "has data old.csv, not new.csv" in capsys.readouterr().err


def test_parquet_in_and_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = mixed(n=600)
    table.to_parquet("a.parquet", row_group_size=100)
    main(["fit", "a.parquet", "--columns", "city,age,since,size", "--random-state", "0"])
    drawn = pd.read_parquet("runs/a/samples.parquet")
    assert drawn.dtypes["age"] == table.dtypes["age"]
    assert set(drawn["city"]) == set(table["city"].dropna())
    main(["sample", "runs/a", "--given", "city=Oslo", "--out", "b.parquet"])
    assert set(pd.read_parquet("b.parquet")["city"]) == {"Oslo"}
    main(["impute", "a.parquet", "--out", "c.parquet"])
    assert not pd.read_parquet("c.parquet").isna().any().any()
    main(["evaluate", "b.parquet", "--data", "a.parquet", "--out", "page.html"])
    assert "Each column" in Path("page.html").read_text()


@pytest.mark.usefixtures("here")
def test_types_that_are_given():
    command = "fit people.csv --columns zip,age --types zip=numbers,age=words --out runs/typed"
    main([*command.split(), "--random-state", "0"])
    kinds = sliceflow.load("runs/typed/model.zip").columns
    assert [column.is_ordered for column in kinds] == [True, False]


def test_a_table_without_a_complete_row(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 5}," if i % 2 else f",{i % 3}" for i in range(60)]
    Path("a.csv").write_text("\n".join(["u,v", *rows]))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        main(["fit", "a.csv", "--random-state", "0"])
    assert set(columns("runs/a/samples.csv")["v"]) == {"0", "1", "2"}
    told = capsys.readouterr()
    assert "there is no report: there are too few rows" in told.err
    assert "report.html" not in told.out
