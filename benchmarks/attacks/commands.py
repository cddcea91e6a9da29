"""Bad and odd uses of the command line."""

from benchmarks.attacks import Case, product

WHOLE = "whole number"
FIT = "fit table.csv --schedule quick --effort 0.05 "
PLAIN = "fit table.csv --y kind --schedule quick "
ROWS = "import csv; rows = list(csv.reader(open('{}')))\n"

OPTIONS = [
    *product(
        PLAIN + "--effort 0.05 --n-particles {}",
        {
            "0": "2 or more",
            "1": "2 or more",
            "-5": "2 or more",
            "2.5": WHOLE,
            "many": WHOLE,
            "1e3": WHOLE,
            "''": WHOLE,
            "1000000000000": "memory|particles",
            "nan": WHOLE,
        },
    ),
    *product(
        PLAIN + "--effort 0.05 --batch-size {}",
        {
            "0": "2 or more",
            "1": "2 or more",
            "-1": "2 or more",
            "x": WHOLE,
            "1.5": WHOLE,
        },
    ),
    *product(
        PLAIN + "--effort {}",
        {
            "0": "effort",
            "-1": "effort",
            "nan": "effort",
            "inf": "effort",
            "x": "a number",
            "1e300": "effort|memory|steps",
        },
    ),
    *product(
        PLAIN + "--minutes {}",
        {
            "0": "at least",
            "-1": "at least|minutes",
            "nan": "minutes",
            "x": "a number",
            "1e-9": "at least",
        },
    ),
    *product(
        PLAIN + "--effort 0.05 --random-state {}",
        {"-1": "0 or more", "x": WHOLE, "1.5": WHOLE, "nan": WHOLE},
    ),
    *product(
        FIT + "--y kind --amplifier {}",
        {
            "-1": "amplifier",
            "nan": "amplifier",
            "inf": "amplifier",
            "x": "a number",
        },
    ),
    *product(
        FIT + "--y {}",
        {
            "nope": "has no column 'nope'",
            "''": "empty name",
            "kind,nope": "nope",
            "u,u": "u",
            "kind,code": "kind",
            "u,v,kind,code": "has all columns|kind",
            "label": "has no column 'label'",
            "left": "has no column 'left'",
            "KIND": "kind",
        },
    ),
    *product(
        FIT + "--columns {}",
        {
            "nope": "nope",
            "u,u": "u",
            "kind": "kind",
            "u,": "column|name",
            ",": "column|name",
            "''": "column|name|words",
        },
    ),
    *product(FIT + "--y u --columns {}", {"u": "u", "u,v": "u", "v,v": "v"}),
    *product(
        "fit table.csv --schedule {}",
        {"fast": "one of quick", "''": "one of quick", "QUICK": "one of quick"},
    ),
    *product(
        FIT + "{}",
        {
            "--size 8": "images",
            "--flips": "images",
            "--stream": "CSV",
            "--json": "dry",
            "--resume": "no run",
            "--colour red": "unknown option --colour",
            "--random-sate 3": "--random-state",
            "--preset quick": "use --schedule",
            "--condition kind": "use --y or --observed",
            "--observed left": "for images",
            "--distributed": "needs a launcher",
            "--out keep.csv": "another path|is a file|not a folder|folder",
            "--out runs/done": "is complete",
            "--out runs/begun": "--resume",
            "--data-dir": "argument|expected",
            "--amplifier 3": "leave it out",
            "--y kind --y-type words": "labels",
            "--y kind --y-type numbers": "y must be numbers",
            "extra": "unknown argument extra",
        },
    ),
    *product(
        "fit photos --effort 0.01 --schedule quick --size {}",
        {
            "0": "size",
            "-3": "size",
            "x": "size",
            "8,": "size",
            "8,8,8": "size",
            "8.5": "size",
            "1000000": "size|memory|pixels",
            "[]": "size",
            "''": "size",
        },
    ),
    *product(
        "fit photos --schedule quick --effort 0.01 --y {}",
        {"nope": "--y label", "left": "--y label", "label --observed left": "give one of them"},
    ),
    *product(
        "fit photos --schedule quick --effort 0.01 --observed {}",
        {
            "nope": "left, right",
            "nowhere.png": "left, right",
            "mask-9x9.png": "resize it",
            "white.png": "leave it out|mark some",
            "table.csv": "image",
            "photos": "image|folder",
            "fifo": "fifo|regular",
            "label": "left, right",
        },
    ),
    *product(
        "fit plain --schedule quick --effort 0.01 {}",
        {
            "--y label": "no labels",
            "--columns u": "for tables",
            "--y-type labels": "y_type|--y-type",
        },
    ),
]

DATA = [
    *product(
        "fit {}",
        {
            "fifo.csv": "fifo.csv",
            "empty.csv": "empty.csv",
            "names.csv": "no rows",
            "one-row.csv": "2 rows or more",
            "ragged.csv": "line 3",
            "twice.csv": "two columns|same name",
            "infinite.csv": "v has infinite values",
            "large.csv": "u has values beyond",
            "null.csv": "null.csv",
            "quotes.csv": "quotes.csv",
            "binary.csv": "binary.csv",
            "unnamed.csv": "name",
            "comment.csv": "comment.csv",
        },
    ),
    *product(
        "fit {} --y v --schedule quick --effort 0.05",
        {
            "fifo.csv": "fifo.csv",
            "empty.csv": "empty.csv",
            "one-row.csv": "more rows",
            "constant.csv": "constant",
            "ragged.csv": "line 3",
            "na.csv": "na.csv.*'?u'?|u.*na.csv",
            "huge.csv": "u",
            "ids.csv": "u|2\\*\\*53",
            "infinite.csv": "finite number",
            "large.csv": "too large|1e\\+18",
            "null.csv": "null.csv",
            "words.csv": "words",
            "unnamed.csv": "name",
        },
    ),
    *product(
        "fit {} --schedule quick --effort 0.05",
        {
            "nowhere.csv": "No such file|does not exist",
            "nowhere": "nowhere",
            "minst": "did you mean mnist",
            "cifar": "did you mean cifar10",
            "''": "name|path|data",
            ".": "broken.png",
            "/dev/zero": "/dev/zero",
            "/dev/null": "/dev/null",
            "/dev/urandom": "/dev/urandom",
            "fifo": "fifo",
            "/etc": "no images|permission|images",
            "truncated": "broken.png",
            "text": "broken.png",
            "hollow": "broken.png",
            "bomb": "broken.png.*pixels|pixels.*broken.png",
            "mixed": "broken.png|size",
            "dangling": "broken.png",
            "piped": "broken.png",
            "none": "no images",
            "five.npz": "5 channels",
            "floats.npz": "bytes",
            "other.npz": "'images'",
            "no-images.npz": "no-images.npz|more rows",
            "short.npz": "short.npz",
            "pickled.npz": "pickled.npz",
            "scalar.npz": "scalar.npz",
            "cut.npz": "cut.npz",
            "text.npz": "text.npz",
            "points.zip": "points.zip|neither",
            "white.png": "white.png|folder",
            "images.npy": "images.npy|--stream|npz",
        },
    ),
    *product(
        "fit {} --stream --schedule quick --effort 0.05",
        {
            "nowhere.parquet": "nowhere",
            "text.npz": "text.npz",
            "cut.npz": "cut.npz",
            "fifo": "fifo",
            "/dev/zero": "/dev/zero",
            "none": "no images",
            "other.npz": "name|other.npz",
            "table.csv": "CSV",
        },
    ),
    *product(
        "evaluate table.csv --data {}",
        {
            "nowhere.csv": "nowhere",
            "empty.csv": "empty.csv",
            "names.csv": "no rows",
            "words.csv": "share no|words",
            "photos": "table",
            "fifo.csv": "fifo.csv",
            "mnist": "table",
        },
    ),
    *product(
        "evaluate {} --data table.csv",
        {
            "nowhere.csv": "nowhere",
            "words.csv": "share no|words",
            "binary.csv": "binary.csv",
            "points.zip": "columns|column|shape|x0",
            "fifo.csv": "fifo.csv",
        },
    ),
    *product(
        "inpaint halves.zip {}",
        {
            "nowhere": "nowhere",
            "truncated": "broken.png",
            "bomb": "broken.png",
            "none": "no images",
            "five.npz": "shape|channels",
            "fifo": "fifo",
            "table.csv": "table.csv|neither",
            "photos": "shape",
            "floats.npz": "bytes",
            "text.npz": "text.npz",
            "no-images.npz": "no-images.npz|images",
        },
    ),
    *product(
        "fit --config {}",
        {
            "bomb.yaml": "bomb.yaml",
            "empty.yaml": "data|empty.yaml",
            "list.yaml": "list.yaml",
            "junk.yaml": "junk.yaml",
            "open.yaml": "open.yaml",
            "unknown.yaml": "colour",
            "typed.yaml": WHOLE,
            "tagged.yaml": "tagged.yaml",
            "nowhere.yaml": "nowhere.yaml",
            "fifo": "fifo",
            "/dev/zero": "/dev/zero",
            "points.zip": "points.zip",
            "none": "none",
        },
    ),
]

WORKS = [
    Case(
        FIT + "--y kind --out runs/new",
        then="assert load('runs/new/model.zip').codec.classes.tolist() == ['a', 'b']",
    ),
    Case(
        FIT + "--y code --columns u,v --out runs/new",
        then="assert load('runs/new/model.zip').codec.classes.tolist() == [0, 1, 2]",
    ),
    Case(
        FIT + "--y code --columns u,v --y-type numbers --out runs/new",
        then="assert load('runs/new/model.zip').codec.classes is None",
    ),
    Case(
        FIT + "--y v --columns u --out runs/new",
        then="assert load('runs/new/model.zip').codec.names == ('u', 'v')",
    ),
    Case(
        FIT + "--y v,code --columns u --out runs/new",
        then="assert load('runs/new/model.zip').spec.condition.l == 2",
    ),
    *[
        Case(
            f"fit {name} --y kind --schedule quick --effort 0.05 --out runs/new",
            then="assert load('runs/new/model.zip').codec.names == ('u', 'v', 'code', 'kind')",
        )
        for name in ("semicolons.csv", "tabs.csv", "bom.csv", "crlf.csv", "UPPER.CSV")
    ],
    Case("fit missing.csv --y v --columns u --schedule quick --effort 0.05 --out runs/new"),
    Case("fit two-rows.csv --y v --schedule quick --effort 0.05 --out runs/new"),
    Case("fit wide.csv --y c0 --schedule quick --effort 0.05 --out runs/new"),
    Case("fit missing.csv --out runs/new", warning="w has no values"),
    *[
        Case(
            f"fit {name}.csv --out runs/new",
            then=ROWS.format("runs/new/samples.csv")
            + f"assert set(zip(*rows[1:], strict=True).__next__()) <= {set(u)}, rows",
        )
        for name, u in [
            ("two-rows", "13"),
            ("constant", "1"),
            ("words", "ac"),
            ("latin", "12"),
            ("utf16", "12"),
        ]
    ],
    *[
        Case(
            f"fit photos --size {size} --schedule quick --effort 0.01 --out runs/new",
            then="assert load('runs/new/model.zip').shape == (3, 4, 4)",
        )
        for size in ("4", "4,4", "'[4,4]'")
    ],
    Case("fit images.npz --schedule quick --effort 0.01 --out runs/new"),
    Case(
        "fit last.npz --schedule quick --effort 0.01 --out runs/new",
        then="assert load('runs/new/model.zip').shape == (1, 6, 6)",
    ),
    Case("fit labelled.npz --y label --schedule quick --effort 0.01 --out runs/new"),
    Case("fit photos --observed half.png --schedule quick --effort 0.01 --out runs/new"),
    Case("fit photos --y label --schedule quick --effort 0.01 --out runs/new"),
    Case("fit --config good.yaml --out runs/new"),
    Case(
        "fit table.csv --y kind --schedule quick --effort 0.05 --dry-run",
        then="assert not Path('runs/done/stages/new').exists()",
    ),
    Case(
        "fit table.csv --y kind --schedule quick --effort 0.05 --dry-run --json",
        then="import json; assert json.loads(Path('stdout.txt').read_text())['seconds'] > 0",
    ),
    *[
        Case(
            f"sample {model}.zip --n 7 --out some.csv",
            then=ROWS.format("some.csv") + f"assert len(rows) == 8 and len(rows[0]) == {columns}",
        )
        for model, columns in {"points": 2, "labels": 3, "whole": 2}.items()
    ],
    Case(
        "sample whole.zip --n 50 --out some.csv",
        then=ROWS.format("some.csv")
        + "assert all(float(v).is_integer() for row in rows[1:] for v in row)",
    ),
    Case(
        "sample labels.zip --y bee --n 7 --out some.csv",
        then=ROWS.format("some.csv") + "assert {row[2] for row in rows[1:]} == {'bee'}",
    ),
    Case(
        "sample numbers.zip --y 0.5 --n 7 --out some.csv",
        then=ROWS.format("some.csv") + "assert {float(row[2]) for row in rows[1:]} == {0.5}",
    ),
    Case("sample numbers.zip --y 1000 --n 7 --out some.csv", warning="y is given beyond the data"),
    Case("sample numbers.zip --y -1e6 --n 7 --out some.csv", warning="y is given beyond the data"),
    Case("sample pairs.zip --y 0.1,0.2 --n 7 --out some.csv"),
    Case(
        "sample pairs.zip --y 0.1,99 --n 7 --out some.csv",
        warning="y1 is given beyond the data",
    ),
    Case(
        "sample classes.zip --y 2 --n 7 --out some.png",
        then="assert Path('some.png').stat().st_size",
    ),
    Case("sample images.zip --n 1 --out some.PNG", then="assert 'PNG' in Path('some.PNG').name"),
    Case(
        "sample points.zip --n 3 --out some.CSV",
        then=ROWS.format("some.CSV") + "assert len(rows) == 4",
    ),
    Case("sample points.zip --n 3 --out some.NPZ", then="assert Path('some.NPZ').exists()"),
    Case(
        "sample images.zip --n 3 --out folder",
        then="assert len(list(Path('folder').rglob('*.png'))) == 3",
    ),
    Case(
        "sample classes.zip --n 3 --out folder",
        then="assert len(list(Path('folder').rglob('*.png'))) == 3",
    ),
    Case(
        "sample points.zip --n 3 --out deep/er/some.csv",
        then="assert Path('deep/er/some.csv').exists()",
    ),
    Case(
        "sample points.zip --n 5 --out keep.csv",
        then=ROWS.format("keep.csv") + "assert len(rows) == 6",
    ),
    Case(
        "sample points.zip --n 1 --out some.csv",
        then="assert 'saved 1 sample in' in Path('stdout.txt').read_text()",
    ),
    Case(
        "sample points.zip --n 5 --random-state 3 --out a.csv",
        then="import sys; sys.argv = 'sliceflow sample points.zip --n 5 --random-state 3 --out b.csv'.split()\nfrom sliceflow.cli import main; main()\nassert Path('a.csv').read_text() == Path('b.csv').read_text()",
    ),
    Case(
        "sample points.zip --n 5 --out a.csv",
        then="import sys; sys.argv = 'sliceflow sample points.zip --n 5 --out b.csv'.split()\nfrom sliceflow.cli import main; main()\nassert Path('a.csv').read_text() != Path('b.csv').read_text()",
    ),
    *[
        Case(
            f"sample spoiled/{name}.zip --n 9 --out folder",
            then="assert len(list(Path('folder').rglob('*.png'))) == 9",
        )
        for name in ("escape-absolute", "escape-relative", "escape-dots", "escape-terminal")
    ],
    Case("inpaint halves.zip images.npz --n 2 --max-images 3 --out filled.png"),
    Case("inpaint halves.zip images.npz --n 1 --max-images 1 --out filled.npz"),
    Case(
        "evaluate table.csv --data table.csv",
        then="assert 'sliced distance' in Path('stdout.txt').read_text()",
    ),
    Case(
        "evaluate runs/done --json", then="import json; json.loads(Path('stdout.txt').read_text())"
    ),
    Case("info runs/done"),
    Case("info runs/done --json", then="import json; json.loads(Path('stdout.txt').read_text())"),
    Case("info points.zip"),
    Case("info runs/begun", then="assert '--resume' in Path('stdout.txt').read_text()"),
    Case(
        "info spoiled/card.zip",
        then="assert chr(27) not in Path('stdout.txt').read_text() and chr(7) not in Path('stdout.txt').read_text()",
    ),
    Case("--help"),
    Case("--version"),
    Case("fit --help"),
    Case("sample --help"),
]

SAMPLES = [
    *product(
        "sample points.zip --out some.csv --n {}",
        {
            "0": "1 or more",
            "-1": "1 or more",
            "1.5": WHOLE,
            "x": WHOLE,
            "1e3": WHOLE,
            "nan": WHOLE,
            "''": WHOLE,
            "1000000000000": "memory",
            "100000000000000000000": "memory|too large|at most",
        },
    ),
    *product("sample images.zip --n {} --out some.png", {"1000000000": "memory", "0": "1 or more"}),
    Case("sample halves.zip --out x.png", "inpaint"),
    *product("sample points.zip --random-state {}", {"-1": "0 or more", "x": WHOLE, "1.5": WHOLE}),
    *product(
        "sample {} --out some.csv",
        {
            "nowhere.zip": "No such file",
            "nowhere": "No such file",
            "table.csv": "table.csv",
            "photos": "pass the folder of a run",
            "fifo": "fifo",
            "/dev/zero": "/dev/zero",
            "/dev/null": "/dev/null",
            "none": "no model",
            "''": "no model|model",
            "images.npz": "images.npz",
            "runs/begun": "--resume",
            "runs": "no model",
            "runs/cut-model": "model.zip",
            "rows.zip": "inpaint|Python",
        },
    ),
    *product(
        "sample points.zip --out {}",
        {
            "some.png": ".csv or .npz",
            "some.jpeg": ".csv or .npz",
            "some": ".csv or .npz",
            "photos": ".csv or .npz",
            "keep.csv/some.csv": "another path",
            "/proc/some.csv": "/proc",
            "''": ".csv or .npz",
        },
    ),
    *product(
        "sample images.zip --out {}",
        {
            "some.csv": ".png or .npz",
            "some.jpeg": ".png or .npz",
            "keep.csv": ".png or .npz",
            "white.png/x.png": "another path",
        },
    ),
    *product(
        "sample labels.zip --out some.csv --y {}",
        {
            "dog": "ant, bee, cow",
            "''": "ant, bee, cow",
            "ANT": "ant",
            "1": "ant, bee, cow",
            "ant,bee": "ant, bee, cow",
        },
    ),
    *product(
        "sample numbers.zip --out some.csv --y {}",
        {
            "x": "number",
            "1,2": "number",
            "nan": "NaN",
            "inf": "infinity",
            "''": "number",
            "1e300": "too large|rescale",
        },
    ),
    *product(
        "sample pairs.zip --out some.csv {}",
        {
            "": "number",
            "--y 1": "number",
            "--y 1,2,3": "number",
            "--y 1,x": "number",
            "--y ,": "number",
        },
    ),
    *product("sample points.zip --y {}", {"1": "is unconditional", "ant": "is unconditional"}),
    *product(
        "sample classes.zip --out x.png --y {}",
        {"9": "0, 1, 2", "ant": "0, 1, 2", "1.5": "0, 1, 2"},
    ),
    *product(
        "inpaint halves.zip images.npz {}",
        {
            "--n 0": "1 or more",
            "--n -1": "1 or more",
            "--n x": WHOLE,
            "--max-images 0": "1 or more",
            "--max-images x": WHOLE,
            "--out filled.gif": ".png or .npz",
            "--out filled.csv": ".png or .npz",
            "--random-state -1": "0 or more",
            "--n 1000000000000": "too large for one picture",
        },
    ),
    *product(
        "inpaint {} images.npz",
        {
            "images.zip": "--observed left",
            "classes.zip": "--observed left",
            "points.zip": "--observed|images|.csv",
            "nowhere.zip": "No such file",
            "rows.zip": "images|Python|.csv",
            "runs/done": "--observed|images|.csv",
        },
    ),
]

MODELS = [
    *(
        Case(f"{command} spoiled/{name}.zip{rest}", refusal)
        for name, refusal in {
            "entropy": "entropy|finite",
            "step-size": "step_size|--step",
            "cells": "cells",
            "shape": "shape|cannot be used",
            "steps": "cannot be used",
            "std": "std|finite",
            "seed": "seed",
            "dtype": "cannot be used",
            "version": "version 99|newer",
            "no-version": "version",
            "format": "pickle",
            "amplifier": "amplifier|finite",
            "l": "cannot be used",
            "names": "names",
            "scale": "cannot be used|finite",
            "shift": "cannot be used|finite",
            "no-scale": "cannot be used",
            "nan": "finite",
            "high": "cannot be used|finite",
            "low": "cannot be used|finite",
            "cut": "cannot be used",
            "flipped": "changed or damaged",
            "empty": "cannot be used",
            "text": "cannot be used",
            "zip": "cannot be used",
        }.items()
        for command, rest in (
            ("sample", " --n 5 --out some.npz"),
            ("evaluate", " --data table.csv --n 20"),
        )
    ),
    *(
        Case(f"info spoiled/{name}.zip", "cannot be used")
        for name in ("cut", "flipped", "empty", "text", "zip", "version", "format", "no-version")
    ),
]

RUNS = [
    *(
        Case(f"info runs/{name}", refusal)
        for name, refusal in {
            "no-config": "",
            "empty-config": "config.yaml",
            "list-config": "config.yaml",
            "junk-config": "config.yaml",
            "bomb-config": "config.yaml",
            "junk-metrics": "metrics.jsonl.*line 2|line 2.*metrics.jsonl",
            "list-metrics": "metrics.jsonl",
            "cut-model": "model.zip",
        }.items()
    ),
    *(
        Case(f"evaluate runs/{name}", refusal)
        for name, refusal in {
            "empty-config": "config.yaml",
            "list-config": "config.yaml",
            "junk-config": "config.yaml",
            "bomb-config": "config.yaml",
            "other-config": "colour|config.yaml",
            "cut-model": "model.zip",
            "begun": "--resume",
        }.items()
    ),
    *(
        Case(
            f"fit table.csv --y kind --schedule quick --effort 0.1 --out runs/{name} --resume",
            refusal,
        )
        for name, refusal in {
            "empty-config": "is complete|config.yaml",
            "list-config": "is complete|config.yaml",
            "cut-model": "is complete",
            "no-config": "no run|is complete",
        }.items()
    ),
    Case(
        "fit --config runs/begun/config.yaml --out runs/begun --resume",
        then="load('runs/begun/model.zip')",
    ),
    Case("fit table.csv --y kind --schedule best --out runs/begun --resume", "schedule"),
    Case("evaluate runs/done --data nowhere.csv", "nowhere"),
    Case("evaluate runs/done --n 1", "2 or more"),
    Case("evaluate runs/done --n x", WHOLE),
    Case("evaluate points.zip", "--data"),
    Case("evaluate photos", "--data"),
    Case("evaluate table.csv", "pass the table"),
]

WORDS = [
    *product(
        "{}",
        {
            "": "missing command",
            "fti": "did you mean fit",
            "sampel": "did you mean sample",
            "fit": "missing argument: data",
            "sample": "missing argument: model",
            "inpaint": "missing argument",
            "inpaint halves.zip": "missing argument: images",
            "evaluate": "missing argument: samples",
            "info": "missing argument: path",
            "reproduce": "missing argument: name",
            "reproduce nothing": "one of figure-2d",
            "reproduce figure-2d --size huge": "one of small",
            "info nowhere.zip": "No such file",
            "info fifo": "fifo",
            "info /dev/zero": "/dev/zero",
            "info none": "no model|no run",
            "info table.csv": "table.csv",
            "info ''": "model|path",
            "bench extra": "unknown argument extra",
            "info points.zip extra": "unknown argument extra",
            "--colour": "unknown option",
            "sample points.zip --out": "argument|expected",
        },
    ),
]

COMMANDS = [*OPTIONS, *DATA, *WORKS, *SAMPLES, *MODELS, *RUNS, *WORDS]
