"""The command line with words and numbers as conditions."""

import numpy as np
import pytest

from sliceflow.cli import main

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose x is at 3 or −3, by a word, plus a number."""
    folder = tmp_path_factory.mktemp("mixed")
    word, number = RNG.choice(["left", "right"], size=800), RNG.normal(size=800)
    x = np.where(word == "right", 3, -3) + number + 0.2 * RNG.normal(size=800)
    lines = [f"{a:.4f},{b},{c:.4f}" for a, b, c in zip(x, word, number, strict=True)]
    (folder / "t.csv").write_text("\n".join(["x,side,number", *lines]))
    out = folder / "run"
    main(
        [
            "fit",
            str(folder / "t.csv"),
            "--y",
            "side,number",
            "--schedule",
            "quick",
            "--out",
            str(out),
        ]
    )
    return out


def test_samples_by_a_word_and_a_number(run, tmp_path):
    main(["sample", str(run), "--n", "300", "--y", "right,1.5", "--out", str(tmp_path / "s.csv")])
    header, *lines = (tmp_path / "s.csv").read_text().splitlines()
    assert header == "x,side,number"
    assert lines[0].endswith(",right,1.5")
    assert np.mean([float(line.split(",")[0]) for line in lines]) == pytest.approx(4.5, abs=0.1)


USAGE = "pass --y with a value for each of side, number, such as --y left,2.5"
WRONG = {
    "right": USAGE,
    "right,1,2": USAGE,
    "up,1": "--y up is not one of the model's labels: it has left, right",
    "right,one": "--y one is not a number: pass one, such as --y 2.5",
}


@pytest.mark.parametrize("y", WRONG)
def test_a_wrong_condition_is_refused_with_the_fix(run, y, capsys):
    with pytest.raises(SystemExit):
        main(["sample", str(run), "--y", y])
    assert WRONG[y] in capsys.readouterr().err


def test_samples_of_arrays_keep_words_and_numbers(run, tmp_path):
    path = tmp_path / "s.npz"
    main(["sample", str(run), "--n", "2", "--y", "left,0", "--out", str(path)])
    with np.load(path) as arrays:
        assert arrays["x"].shape == (2, 1)
        assert arrays["y"].tolist() == [["left", "0.0"]] * 2
