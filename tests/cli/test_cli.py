"""The command line: what it does, and that each wrong use ends in one line that names the fix."""

import json
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
import yaml
from own_data import make_photos, make_table
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sliceflow import SlicedFlow, Stage, load
from sliceflow.cli import COMMANDS, main
from sliceflow.cli._samples import folder_name, save_samples
from sliceflow.data._tables import load_csv
from sliceflow.files._archive import write
from sliceflow.flow.schedules import SHRINKING
from sliceflow.reproduce._speed import speeds
from sliceflow.runs._forecast import COPIES, Forecast
from sliceflow.runs._report import write_report
from sliceflow.runs._run import Run, RunLogger, rows_to_compare

SHORT = ("--effort", "0.05")

pytestmark = pytest.mark.xdist_group("cli")  # one folder for all


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data of two kinds, and runs that were fitted to it."""
    folder = tmp_path_factory.mktemp("cli")
    make_photos(folder / "photos", ("bright", "dark"), 40)
    make_table(folder / "table.csv", ("u", "v", "kind"), "ab", 80)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main(["fit", "photos", "--y", "label", *SHORT])
        main(["fit", "photos", "--observed", "left", "--out", "runs/halves", *SHORT])
        main(["fit", "table.csv", "--y", "kind", "--schedule", "quick"])
        main(["fit", "table.csv", "--y", "v", "--columns", "u", "--out", "runs/u", *SHORT])
    return folder


@pytest.fixture(autouse=True)
def _in_place(request, monkeypatch):
    if "place" in request.fixturenames:
        monkeypatch.chdir(request.getfixturevalue("place"))


def test_a_run_has_all_it_should(place):
    files = {path.name for path in Path("runs/photos").iterdir()}
    assert files == {
        *("config.yaml", "metrics.jsonl", "stages", "film.gif"),
        *("model.zip", "samples.png", "report.html"),
    }
    lines = [
        json.loads(line) for line in Path("runs/photos/metrics.jsonl").read_text().splitlines()
    ]
    assert len(lines) == len(list(Path("runs/photos/stages").iterdir()))
    assert lines[-1]["distance"] < lines[0]["distance"]


def test_tensorboard_shows_a_run(place):
    fit = ("fit", "photos", "--out", "runs/board", "--tensorboard", *SHORT)
    main(list(fit))
    events = EventAccumulator("runs/board/tensorboard").Reload()
    lines = Run(Path("runs/board")).read_metrics()
    assert [shown.value for shown in events.Scalars("distance")] == pytest.approx(
        [line["distance"] for line in lines]
    )
    assert events.Images("particles")[0].width > 50


def test_tensorboard_is_an_extra(place, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(SystemExit):
        main(["fit", "photos", "--out", "runs/none", "--tensorboard", *SHORT])
    assert "pip install tensorboard" in capsys.readouterr().err
    assert not Path("runs/none").exists()


def test_the_report_asks_for_no_other_file(place):
    for run in ("photos", "halves", "table", "u"):
        page = Path("runs", run, "report.html").read_text()
        addresses = re.findall(r'(?:src|href)="([^"]{0,30})', page)
        assert all(address.startswith("data:") for address in addresses)
        assert "http" not in re.sub(r'"data:[^"]*"', "", page)


def test_the_report_shows_calibration_given_numbers(place):
    assert "<h2>Calibration</h2>" in Run(Path("runs/u")).report.read_text()
    assert "<h2>Calibration</h2>" not in Run(Path("runs/table")).report.read_text()


def test_samples_of_a_label(place):
    main(["sample", "runs/photos", "--y", "dark", "--n", "30", "--out", "dark.npz"])
    images = np.load("dark.npz")["images"]
    assert images.shape == (30, 3, 12, 10)
    assert images.mean() < 100


def test_samples_as_pictures(place):
    main(["sample", "runs/photos", "--n", "6", "--out", "some"])
    assert len(list(Path("some/dark").glob("*.png"))) == 3
    main(["sample", "runs/photos", "--y", "dark", "--n", "9"])
    with Image.open("samples.png") as grid:
        assert grid.size == (3 * 12 * 6 - 12, 3 * 14 * 6 - 12)
    main(["sample", "runs/photos", "--n", "9"])
    with Image.open("samples.png") as grid:  # two rows for each class, and its name
        assert grid.size[0] > 3 * 12 * 6 + 20
        assert grid.size[1] == 4 * 14 * 6 - 12


def test_suffixes_may_be_written_in_capitals(place):
    main(["sample", "runs/photos", "--n", "4", "--out", "X.PNG"])
    main(["sample", "runs/photos", "--n", "4", "--out", "X.Npz"])
    main(["sample", "runs/table", "--n", "4", "--out", "X.CSV"])
    main(["inpaint", "runs/halves", "photos", "--max-images", "2", "--out", "F.PNG"])
    for name in ("X.PNG", "F.PNG"):
        assert Path(name).read_bytes().startswith(b"\x89PNG")
    assert np.load("X.Npz")["images"].shape == (4, 3, 12, 10)
    assert len(load_csv(Path("X.CSV"))) == 4


ORDINARY = ["7", "-1", "ankle boot", "T-shirt, top", "Äpfel", "猫", "a.b", "x=1 (old)"]
STRANGE = [
    *(
        "",
        ".",
        "..",
        "...",
        ".hidden",
        "../../x",
        "/abs/path",
        "a/b",
        "a\\b",
        "C:",
        "%",
        "%2E",
        "a%2Fb",
    ),
    *("\0", "a\nb", "\x1b[31m", "\udcff", "\u202e", "n" * 300, "n" * 301, "é" * 200, "*", "?"),
]


def test_ordinary_labels_are_names_of_folders():
    assert [folder_name(label) for label in ORDINARY] == ORDINARY


@pytest.mark.parametrize("label", STRANGE, ids=ascii)
def test_strange_labels_make_folders_too(label, tmp_path):
    name = folder_name(label)
    (tmp_path / name).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert name.isprintable()
    if 0 < len(label) < 200:
        assert unquote(name, errors="surrogatepass") == label


def test_every_label_has_a_folder_of_its_own():
    names = [folder_name(label) for label in ORDINARY + STRANGE]
    assert len(set(names)) == len(names)


def test_samples_stay_in_their_folder(tmp_path):
    labels = np.array(["../outside", str(tmp_path / "absolute"), "inside"])
    images = np.zeros((3, 1, 4, 4), np.uint8)
    out = tmp_path / "deep" / "out"
    save_samples(out, None, images, labels)
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert len(list(out.iterdir())) == 3


def test_samples_of_a_table(place):
    main(["sample", "runs/table", "--y", "a", "--n", "50", "--out", "a.csv"])
    table = load_csv(Path("a.csv"))
    assert list(table.columns) == ["u", "v", "kind"]
    assert set(table.column("kind")) == {"a"}
    u, v = table.column("u"), table.column("v")
    assert np.corrcoef(u, v)[0, 1] > 0.9


def test_samples_given_a_column(place):
    main(["sample", "runs/u", "--y", "1.5", "--n", "5", "--out", "u.csv"])
    assert set(load_csv(Path("u.csv")).column("v")) == {1.5}


def test_the_same_seed_gives_the_same_samples(place):
    drawn = []
    for seed in (["--random-state", "3"], ["--random-state", "3"], [], []):
        main(["sample", "runs/photos", "--n", "4", "--out", "some.npz", *seed])
        drawn.append(np.load("some.npz")["images"])
    assert (drawn[0] == drawn[1]).all()
    assert not (drawn[2] == drawn[3]).all()


def test_inpainting_keeps_what_is_given(place):
    main(["inpaint", "runs/halves", "photos", "--n", "2", "--max-images", "3", "--out", "f.npz"])
    filled = np.load("f.npz")["images"].reshape(3, 2, 3, 12, 10)
    original = np.asarray(Image.open("photos/bright/0.png")).transpose(2, 0, 1)
    assert (filled[0, ..., :5] == original[..., :5]).all()
    main(["inpaint", "runs/halves", "photos", "--n", "2", "--max-images", "3"])
    assert Path("filled.png").exists()


def test_a_mask_is_white_where_pixels_are_given(place):
    mask = np.zeros((12, 10), np.uint8)
    mask[:3] = 255
    Image.fromarray(mask).save("mask.png")
    main(["fit", "photos", "--observed", "mask.png", "--out", "runs/mask", *SHORT])
    given = load("runs/mask/model.zip").codec.condition.mask.reshape(3, 12, 10)
    assert given[:, :3].all()
    assert not given[:, 3:].any()


def test_the_same_config_gives_the_same_model(place):
    main(["fit", "--config", "runs/table/config.yaml", "--out", "runs/again"])
    assert Path("runs/again/model.zip").read_bytes() == Path("runs/table/model.zip").read_bytes()


def test_every_fit_has_a_seed_of_its_own(place, capsys):
    """It is drawn and saved; a resumed fit takes the saved one."""
    main(["fit", "table.csv", "--y", "kind", "--out", "runs/another", *SHORT])
    seeds = {Run(Path(f"runs/{run}")).settings()["random_state"] for run in ("another", "u")}
    assert len(seeds) == 2
    Path("runs/another/model.zip").rename("before.zip")
    main(["fit", "table.csv", "--y", "kind", "--out", "runs/another", "--resume", *SHORT])
    assert Path("runs/another/model.zip").read_bytes() == Path("before.zip").read_bytes()


def test_evaluation(place, capsys):
    main(["evaluate", "runs/table", "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert figures["sliced distance"] < 3 * figures["sliced distance of data to other data"]


def test_tables_are_compared_by_the_names_of_their_columns(place, capsys):
    Path("straight.csv").write_text("u,v\n" + "\n".join(f"{x},{2 * x}" for x in range(-20, 20)))
    Path("turned.csv").write_text("v,u\n" + "\n".join(f"{2 * x},{x}" for x in range(-20, 20)))
    main(["evaluate", "turned.csv", "--data", "straight.csv", "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert figures["largest difference of a column, u"] == 0
    assert figures["C2ST"] < 0.7


def test_models_without_their_run_are_compared_by_the_names_of_columns(place, capsys):
    for run in ("table", "u"):
        model = f"runs/{run}/model.zip"
        main(["evaluate", model, "--data", "table.csv", "--n", "300", "--json"])
        figures = json.loads(capsys.readouterr().out)
        assert figures["samples"] == figures["rows of data"] == 40
        assert figures["sliced distance"] < 1


def test_tables_in_order_are_compared_with_all_of_the_data(tmp_path, capsys):
    """Not with their first rows alone."""
    table, turned = tmp_path / "sorted.csv", tmp_path / "turned.csv"
    table.write_text("u\n" + "\n".join(map(str, range(2000))))
    turned.write_text("u\n" + "\n".join(map(str, reversed(range(2000)))))
    main(["evaluate", str(table), "--data", str(turned), "--n", "500", "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert figures["largest difference of a column, u"] < 0.1
    assert figures["C2ST"] < 0.6


def test_a_copy_is_called_one(tmp_path):
    """Of columns far from 0, too, where rounding hides that rows differ."""
    rng = np.random.default_rng(0)
    data, samples = 2020 + rng.normal(size=(2, 300, 2))
    samples[:30] = data[:30]
    model = SlicedFlow(schedule=1, random_state=0).fit(data).model_
    run = Run(tmp_path)
    run.config.write_text("")
    line = {"step": 1, "seconds": 1.0, "distance": 1.0, "floor": 1.0}
    run.metrics.write_text(json.dumps(line) + "\n" + '{"step"')  # and a line that was cut off
    write_report(run, "copies", model, data, samples)
    assert "10.0 % of samples are equal" in run.report.read_text()


def test_info(place, capsys):
    main(["info", "runs/photos"])
    assert "given a label: bright, dark" in capsys.readouterr().out
    main(["info", "runs/photos/model.zip", "--json"])
    assert json.loads(capsys.readouterr().out)["model"]["shape"] == [3, 12, 10]


EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\r"


def test_no_file_can_steer_the_terminal(tmp_path, capsys):
    data = np.random.default_rng(0).normal(size=(50, 2))
    model = SlicedFlow(schedule=1, random_state=0).fit(data, np.array(["Äpfel", EVIL] * 25)).model_
    path = tmp_path / "evil.zip"
    model.save(path, about=f"A title\tof {EVIL}")
    main(["info", str(path)])
    with pytest.raises(SystemExit):
        main(["sample", str(path), "--y", "none"])
    with pytest.raises(SystemExit):
        main(["sample", str(path), "--shedule", EVIL])
    warn = warnings.showwarning
    warn(EVIL, UserWarning, "", 0)
    told = "".join(capsys.readouterr())
    assert all(character.isprintable() or character in "\n\t" for character in told)
    assert told.count("\\x1b]0;owned") >= 3
    assert "A title\tof" in told
    assert "Äpfel" in told


def test_one_is_not_many(place, capsys):
    main(["sample", "runs/table", "--y", "a", "--n", "1", "--out", "one.csv"])
    assert capsys.readouterr().out == "saved 1 sample in one.csv\n"
    main(["sample", "runs/table", "--y", "a", "--n", "2", "--out", "two.csv"])
    assert capsys.readouterr().out == "saved 2 samples in two.csv\n"


def test_bench(capsys, monkeypatch):
    monkeypatch.setattr("sliceflow.cli._bench.speeds", lambda: speeds(1, 100, 200))
    main(["bench"])
    assert "times exact step, dense directions / fast step, mnist size" in capsys.readouterr().out
    main(["bench", "--json"])
    assert json.loads(capsys.readouterr().out)["step.ms.cifar10"] > 0


def test_progress_is_lines_where_there_is_no_terminal(place, monkeypatch, capsys):
    monkeypatch.setattr("sliceflow.flow._progress.SECONDS", 1e-9)
    main(["fit", "photos", "--dry-run", "--json", "--out", "runs/dry"])
    told = capsys.readouterr()
    json.loads(told.out)
    main(["sample", "runs/table", "--y", "a", "--n", "2000", "--out", "a.csv"])
    for lines in (told.err, capsys.readouterr().err):
        assert re.match(r"stage 1/\d+: \d+ of \d+ steps, \d+ %, took 00:\d\d, .* left\n", lines)
        assert "100 %" in lines
        assert "\r" not in lines


def test_a_dry_run_leaves_nothing(place, capsys):
    main(["fit", "photos", "--dry-run", "--json", "--out", "runs/dry"])
    forecast = json.loads(capsys.readouterr().out)
    assert forecast["seconds"] > 0
    assert forecast["bytes"] > 2**20
    main(["fit", "photos", "--dry-run", "--out", "runs/dry"])
    assert re.search(r"about [\d.]+ minutes and [\d.]+ GiB", capsys.readouterr().out)
    assert not Path("runs/dry").exists()


def sliceflow(*arguments, **options):
    """Run the command in a process of its own."""
    command = [sys.executable, "-c", "from sliceflow.cli import COMMANDS, main; main()", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def test_what_a_start_needs_is_free_for_what_is_recorded():
    for recorded, memory in ((1, 200), (50, 430 + COPIES * 500)):  # 3 of 10 steps were tried
        assert Forecast(0, 0, 3, (1.0,), (recorded,), 200, 80).memory((Stage(10),)) == memory


@pytest.mark.parametrize(("effort", "steps"), [("1", 200), ("0.05", 10)])
def test_presets_know_what_is_given(place, effort, steps, capsys):
    given = ("--y", "v", "--columns", "u", "--schedule", "quick")
    main(["fit", "table.csv", *given, "--effort", effort, "--dry-run", "--json"])
    assert json.loads(capsys.readouterr().out)["stages"] == [
        asdict(Stage(steps, step_size=SHRINKING)) | {"step_size": list(SHRINKING)}
    ]


def test_minutes_become_an_effort(place):
    fit = ("fit", "table.csv", "--y", "kind", "--minutes", "2", "--dry-run", "--json")
    told, _ = sliceflow(*fit).communicate()
    forecast = json.loads(told)
    assert forecast["seconds"] == pytest.approx(120, rel=0.1)
    assert forecast["stages"][0]["steps"] > 100


def test_a_line_that_was_cut_off_is_written_anew(tmp_path):
    data = np.random.default_rng(0).normal(size=(50, 2))
    plan = SlicedFlow(schedule=2, random_state=0).plan(data)
    run = Run(tmp_path)
    run.metrics.write_text('{"step": 1, "seco')
    plan.run([RunLogger(run, plan, rows_to_compare(plan))])
    assert [line["step"] for line in run.read_metrics()] == [1, 2]


@pytest.mark.parametrize("shards", [1, 64])
def test_rows_to_compare_are_of_all_the_data(shards):
    """Each shard gives as many, to both halves, and hardly a row comes twice."""
    data = np.arange(3000.0)[:, None]
    plan = SlicedFlow(schedule=1, random_state=0).plan(data, shards=shards)
    rows = plan.codec.scaling.inverse(rows_to_compare(plan)).round()[0]
    assert len(rows) == 2000
    assert len(rows.unique()) > 1990
    for half in rows.split(1000):
        assert half.mean() == pytest.approx(1500, abs=100)


def test_the_minutes_that_are_said_to_be_enough_are():
    steps = (Stage(10), Stage(20))
    forecast = Forecast(40.0, 30.0, 3, (1.0, 2.0), (0, 0), 0, 0)
    with pytest.raises(ValueError, match="1 minutes are too few") as error:
        forecast.effort(steps, 1, spent=30)
    enough = float(re.findall(r"at least ([\d.]+)", str(error.value))[0])
    assert forecast.effort(steps, enough, spent=30) * 50 >= 3


def test_a_run_that_is_interrupted_goes_on(place):
    fit = ("fit", "table.csv", "--y", "kind", "--effort", "300", "--out", "runs/long")
    process = sliceflow(*fit)
    waited_for(Path("runs/long/metrics.jsonl"), process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130
    line = told.splitlines()[-1]  # those before it tell how far it was
    assert line == "sliceflow fit: interrupted: add --resume to continue from the last checkpoint"
    (saved,) = Path("runs/long/checkpoints").glob("*.zip")
    lines = Path("runs/long/metrics.jsonl").read_text()
    process = sliceflow(*fit, "--resume")
    while Path("runs/long/metrics.jsonl").read_text() == lines:
        assert process.poll() is None
        time.sleep(0.1)
    process.terminate()
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert max(Path("runs/long/checkpoints").glob("*.zip")) > saved
    steps = [line["step"] for line in Run(Path("runs/long")).read_metrics()]
    assert steps == sorted(set(steps))


def waited_for(path, process):
    """Wait until a process has written a file."""
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.1)


def test_two_fits_do_not_share_a_folder(place, capsys):
    fit = ("fit", "table.csv", "--y", "kind", "--effort", "300", "--out", "runs/both")
    first = sliceflow(*fit)
    waited_for(Path("runs/both/config.yaml"), first)
    for extra in ([], ["--resume"]):
        with pytest.raises(SystemExit):
            main([*fit, *extra])
        (line,) = capsys.readouterr().err.splitlines()
        assert "another fit is writing to runs/both: pass another --out" in line
    assert first.poll() is None
    first.kill()
    first.communicate()
    with Run(Path("runs/both")).locked():  # the lock went with the process
        assert Path("runs/both/config.yaml").exists()


def test_of_two_fits_that_begin_together_one_ends(place):
    fit = ("fit", "table.csv", "--y", "kind", "--out", "runs/together", *SHORT)
    both = [sliceflow(*fit) for _ in range(2)]
    told = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1]
    (line,) = "".join(told).splitlines()
    assert "another fit is writing" in line or "is complete" in line
    assert load("runs/together/model.zip").codec.classes.tolist() == ["a", "b"]


def test_a_fit_that_fails_at_once_leaves_no_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["fit", "nowhere.csv"])
    assert not list(tmp_path.iterdir())
    Path("mine").mkdir()
    with pytest.raises(SystemExit):
        main(["fit", "nowhere.csv", "--out", "mine"])
    assert Path("mine").exists()


WRONG = [
    ("", 2, "pass one of fit, sample"),
    ("ft", 2, "did you mean fit?"),
    ("fit", 2, "missing argument: data"),
    ("fit table.csv --shedule quick", 2, "did you mean --schedule?"),
    ("fit table.csv --preset quick", 2, "unknown option --preset: use --schedule"),
    ("fit table.csv --condition kind", 2, "use --y or --observed"),
    ("fit table.csv --schedule quik", 2, "one of quick, standard, best"),
    ("fit table.csv --minutes soon", 2, "pass a number"),
    ("fit table.csv --n-particles 1.5", 2, "pass a whole number"),
    ("fit photos --size large", 2, "pass a height and a width, such as 64 or 64x48"),
    ("fit photos --size 1,2,3", 2, "pass a height and a width, such as 64 or 64x48"),
    ("fit --config nowhere.yaml", 2, "nowhere.yaml"),
    ("fit nowhere", 1, "nor the path of a folder"),
    ("fit nowhere --stream", 1, "neither a folder nor a Parquet"),
    ("fit a-table.csv --y v --stream", 1, "not for CSV files"),
    ("fit nowhere.csv", 1, "nowhere.csv: No such file or directory: check the path"),
    ("fit table.csv --y u --out x", 1, "'kind' is words"),
    ("fit table.csv --schedule quick --out x", 1, "is not for tables without --y"),
    ("fit table.csv --y sort --out x", 1, "it has u, v, kind"),
    ("fit table.csv --y kind --columns u,w --out x", 1, "it has u, v, kind"),
    ("fit table.csv --y kind --n-particles 1 --out x", 1, "pass --n-particles 2 or more"),
    ("fit table.csv --y kind --random-state -1 --out x", 1, "pass --random-state 0 or more"),
    ("fit table.csv --y kind --minutes 0.0001 --out x", 1, "pass at least"),
    ("fit table.csv --y kind", 1, "is complete: pass another --out, or delete it"),
    ("fit table.csv --out runs/begun", 1, "pass --resume to continue it, or another --out"),
    ("fit table.csv --resume --out runs/never", 1, "leave out --resume"),
    ("fit --resume", 2, "sliceflow fit: missing argument: data"),
    ("fit table.csv --resume --out runs/damaged", 1, "config.yaml is damaged"),
    ("info runs/damaged", 1, "config.yaml is damaged"),
    ("fit table.csv --y u --columns u,v --out x", 1, "leave it out of one"),
    ("fit missing.csv --y v --out x", 1, "column 'u' has no value in line 3: fill it in"),
    ("fit photos/dark --y label --out x", 1, "leave out --y label"),
    ("fit photos --observed middle --out x", 1, "pass left, right, top, bottom, or the path"),
    ("fit photos --y kind --out x", 1, "pass --y label"),
    ("fit photos --y label --observed left --out x", 1, "give one of them"),
    ("fit table.csv --y kind --observed left --out x", 1, "--observed is for images"),
    ("fit table.csv --distributed --out x", 1, "--distributed needs a launcher"),
    ("fit photos --observed large.png --out x", 1, "resize it"),
    ("fit mixed --out x", 1, "pass a size to resize all images to"),
    ("fit table.csv --y kind --effort 0 --out x", 1, "must be finite and > 0"),
    ("fit table.csv --y u,v,kind --out x", 1, "leave out at least one"),
    ("fit table.csv --y kind --flips --out x", 1, "leave them out for a table"),
    ("fit photos --columns u --out x", 1, "leave it out for images"),
    ("fit mnist --size [8,8] --out x", 1, "is for folders of images, which mnist is not"),
    ("fit five.npz --out x", 1, "pass 1 (grey) or 3 (RGB)"),
    ("fit table.csv --y kind --json --out x", 1, "add --dry-run"),
    ("fit twice.csv", 1, "rename one of"),
    ("fit binary.csv", 1, "save it as one"),
    ("fit broken.csv", 1, "line 3 of broken.csv has 1 values"),
    ("fit empty.csv", 1, "has no rows"),
    ("fit mnist --data-dir nothing", 1, "put it there, or pass another data folder"),
    ("sample", 2, "missing argument: model"),
    ("sample runs/nowhere", 1, "No such file"),
    ("sample table.csv", 1, "download or save it again"),
    ("sample newer.zip", 1, "version 99"),
    ("sample runs/begun", 1, "resume it by sliceflow fit"),
    ("sample photos", 1, "pass the folder of a run"),
    ("sample runs/photos --y grey", 1, "it has bright, dark"),
    ("sample runs/u", 1, "a number for each of v"),
    ("sample runs/u --y one", 1, "--y one is not a number: pass one"),
    ("sample runs/halves", 1, "use sliceflow inpaint"),
    ("sample runs/photos --n -1", 1, "pass --n 1 or more"),
    ("sample runs/photos --n 0", 1, "pass --n 1 or more"),
    ("sample runs/photos --n 1000000000000", 1, "655 TiB of memory, but"),
    ("sample runs/table --n 1000000000000", 1, "or less"),
    ("sample runs/photos --n 100000", 1, "pass --n 14"),
    ("inpaint runs/halves photos --n 1000000000000 --out f.npz", 1, "PiB of memory, but"),
    ("inpaint runs/halves photos --n 100000", 1, "pass --n 1479 or less, or save arrays"),
    ("fit table.csv --y kind --n-particles 1000000000000 --out x", 1, "pass --n-particles"),
    ("fit photos --n-particles 1000000000000 --dry-run", 1, "PiB of memory, but"),
    ("sample runs/photos --out some.jpeg", 1, "it has to end in .png or .npz, or be a folder"),
    ("sample runs/table --out some.png", 1, "it has to end in .csv or .npz"),
    ("sample runs/photos --out table.csv/some.png", 1, "choose another path"),
    ("inpaint runs/photos photos", 1, "fit one with --observed"),
    (
        "inpaint runs/halves photos --out filled.gif",
        1,
        "it has to end in .png or .npz, or be a folder",
    ),
    ("inpaint runs/halves photos --max-images 0", 1, "pass --max-images 1 or more"),
    ("evaluate a-table.csv", 1, "pass the table to compare it with"),
    ("evaluate runs/photos/model.zip", 1, "such as --data mnist"),
    ("info nowhere.zip", 1, "No such file"),
]


@pytest.fixture(scope="module")
def wrong(place):
    """What wrong uses name."""
    (place / "mixed").mkdir()
    for side in (8, 9):
        Image.new("L", (side, side)).save(place / "mixed" / f"{side}.png")
    Image.new("L", (30, 30)).save(place / "large.png")
    np.savez(place / "five.npz", images=np.zeros((4, 5, 8, 8), np.uint8))
    (place / "missing.csv").write_text("u,v\n1,2\nNA,3\n4,4\n")
    (place / "broken.csv").write_text("u,v\n1,2\n3\n")
    (place / "empty.csv").write_text("u,v\n")
    (place / "twice.csv").write_text("u,u\n1,2\n")
    (place / "binary.csv").write_bytes(b"u,v\n1,\x81\n")
    (place / "a-table.csv").write_text("u,v\n1,2\n")
    config = json.dumps({"format": "sliceflow model", "version": 99})
    write(place / "newer.zip", [("config.json", config.encode())])
    (place / "runs" / "begun").mkdir()
    (place / "runs" / "begun" / "config.yaml").write_text("data: table.csv\n")
    (place / "runs" / "damaged").mkdir()
    (place / "runs" / "damaged" / "config.yaml").touch()


@pytest.mark.usefixtures("wrong")
@pytest.mark.parametrize(("command", "code", "fix"), WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_use_ends_in_one_line(place, command, code, fix, capsys, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with pytest.raises(SystemExit) as end:
        main(command.split())
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("sliceflow")
    assert fix in line
    assert end.value.code == code


def test_many_processes_have_no_dry_run(place, capsys, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one that torchrun gave")
    with pytest.raises(SystemExit):
        main(["fit", "table.csv", "--distributed", "--dry-run"])
    assert "leave out the launcher" in capsys.readouterr().err


def test_many_processes_are_asked_for(place, capsys, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one that torchrun gave")
    with pytest.raises(SystemExit) as end:
        main(["fit", "table.csv", "--y", "kind", "--out", "x"])
    assert end.value.code == 2  # which a launcher does not try again
    assert "pass --distributed" in capsys.readouterr().err
    assert not Path("x").exists()


def test_an_attempt_after_one_that_had_ended(place, monkeypatch):
    """A process may be killed after it wrote the model: the next attempt has nothing to do."""
    before = Path("runs/table/model.zip").read_bytes()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one that torchrun gave")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    main(["fit", "table.csv", "--y", "kind", "--schedule", "quick", "--distributed"])
    assert Path("runs/table/model.zip").read_bytes() == before


def test_a_stream(place):
    """The images of a folder, by their classes or without, and a part of them given."""
    main(["fit", "photos", "--stream", "--y", "label", "--out", "runs/streamed", *SHORT])
    assert set(load("runs/streamed/model.zip").codec.classes) == {"bright", "dark"}
    main(["fit", "photos", "--stream", "--out", "runs/whole", *SHORT])
    assert load("runs/whole/model.zip").codec.classes is None
    main(["fit", "photos", "--stream", "--observed", "left", "--out", "runs/part", *SHORT])
    assert Path("runs/part/samples.png").exists()


@pytest.fixture
def small_disk(tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can be mounted by root alone")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


FULL = "No space left on device: free some space, or write elsewhere"


@pytest.mark.parametrize(
    ("run", "name"),
    [("photos", "x.npz"), ("photos", "x.png"), ("photos", "pictures"), ("table", "x.csv")],
)
def test_a_full_disk_leaves_what_was_there(place, small_disk, run, name, capsys):
    out = small_disk / name
    main(["sample", f"runs/{run}", "--n", "5", "--out", str(out)])
    before = {path: path.read_bytes() for path in small_disk.rglob("*.*")}
    n = "500" if run == "photos" else "5000"
    with pytest.raises(SystemExit):
        main(["sample", f"runs/{run}", "--n", n, "--random-state", "1", "--out", str(out)])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(FULL)
    assert str(out) in line
    whole = {path: path.read_bytes() for path in small_disk.rglob("*.*")}
    if out.is_dir():
        assert all(Image.open(path).load() for path in whole)
    else:
        assert whole == before


def test_a_fit_on_a_full_disk_leaves_no_part_of_its_config(place, small_disk, capsys):
    (small_disk / "ballast").write_bytes(bytes(64 * 1024))
    with pytest.raises(SystemExit):
        main(["fit", "table.csv", "--y", "kind", "--out", str(small_disk / "run"), *SHORT])
    assert FULL in capsys.readouterr().err
    assert not (small_disk / "run" / "config.yaml").exists()


def test_help_is_quick_and_brings_no_torch():
    code = "import sys; from sliceflow.cli import COMMANDS, main\ntry: main(['--help'])\nfinally: "
    code += "print('torch' in sys.modules, file=sys.stderr)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stderr.strip() == "False"
    assert "sliceflow fit mnist" in result.stdout


def test_every_command_has_examples(capsys):
    for name in COMMANDS:
        with pytest.raises(SystemExit):
            main([name, "--help"])
        assert f"  sliceflow {name} " in capsys.readouterr().out


def test_options_are_written_as_they_are_read(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["fit", "mnist", "--flips", "--size", "[8,9]", "--print_config"])
    (tmp_path / "config.yaml").write_text(capsys.readouterr().out)
    with pytest.raises(SystemExit):
        main(["fit", "--config", str(tmp_path / "config.yaml"), "--print_config"])
    assert capsys.readouterr().out == (tmp_path / "config.yaml").read_text()


@pytest.mark.parametrize(
    ("given", "size"),
    [("8", [8, 8]), ("8,9", [8, 9]), ("8x9", [8, 9]), ("8 x 9", [8, 9]), ("[8, 9]", [8, 9])],
)
def test_a_size_is_written_as_people_write_it(given, size, capsys):
    with pytest.raises(SystemExit):
        main(["fit", "photos", "--size", given, "--print_config"])
    assert yaml.safe_load(capsys.readouterr().out)["size"] == size


def test_the_version_is_told_once():
    """In the package; what cites it has the same."""
    root = Path(__file__).parents[2]
    version = re.search(r'__version__ = "(.*)"', (root / "src/sliceflow/__init__.py").read_text())[
        1
    ]
    assert f"version: {version}\n" in (root / "CITATION.cff").read_text()
