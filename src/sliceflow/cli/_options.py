"""Options of each command, with their defaults and help."""

import re
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Self

STARTED = perf_counter()
"""Approximate start of the process: everything else is imported later."""


class Size(tuple[int, int]):
    """A height and a width."""

    @classmethod
    def read(cls, value: Any) -> Self:
        """Return a size written as 64, 64x48, 64,48 or [64,48]."""
        words = re.split("[x,]", value.strip("[]")) if isinstance(value, str) else value
        sides = [int(side) for side in ([words] if isinstance(words, int) else words)]
        height, width = sides * 2 if len(sides) == 1 else sides
        return cls((height, width))


@dataclass
class Fit:
    """Move particles from noise onto the data, and save the recorded flow as a model.

    For example:
      sliceflow fit mnist --y label --schedule quick
      sliceflow fit photos/ --size 64 --minutes 30 --out runs/photos
      sliceflow fit cifar10 --observed left         given the left half, fill in the right
      sliceflow fit flowers.csv --y species
      sliceflow fit people.csv                      a table of words, dates and gaps
      sliceflow fit people.csv --update more.csv    and rows that came later
      sliceflow fit many.parquet --stream           more than fits in memory
      sliceflow fit mnist --dry-run                 the schedule, how long, and how much memory

    Parameters
    ----------
    data
        mnist, fashion-mnist, cifar10 or celeba; or the path of a folder of images (with a subfolder
        for each class, if there are classes), of an npz file, or of a CSV or Parquet table.
    out
        Folder of the run. By default runs/ and the name of the data.
    y
        What to condition on: "label" for the labels of images, or the names of columns of a table,
        separated by commas. By default nothing: then a table may have words, dates and gaps, and
        sample --given asks for rows with any values.
    observed
        The part of each image that is given when sampling: left, right, top or bottom, or the path
        of a mask image that is white where pixels are given. By default none.
    columns
        Columns of a table to model, separated by commas. By default all that are not in --y.
    types
        What columns of a table fitted without --y are, where what is found is not right: words,
        numbers, id (left out), or words in their order, as in zip=words,size=S<M<L.
    update
        Files with more rows of a table fitted without --y, separated by commas: the model becomes
        that of all rows. If the run is complete, it is replaced.
    schedule
        Preset for the number of steps: more steps come nearer to the data.
    effort
        Factor for the number of steps of the schedule.
    minutes
        Time budget in minutes; overrides --effort.
    n_particles
        Number of particles. By default one for each row of data, at most 10,000; for a table given
        numbers, five for each row, at most 50,000.
    batch_size
        Maximum number of rows of data used in each step. By default 20,000, or 10,000 with
        --stream.
    size
        Resize the images of a folder to this height and width: 64x48, or 64 for both.
    flips
        Also learn the mirror images.
    stream
        Read data while fitting instead of loading it all: a folder of images, of Parquet files or
        of tar files, or a file that ends in parquet, tar, npy or npz.
    y_type
        Whether --y holds labels or numbers. By default words are labels, and so are whole numbers
        with at most 100 different values that each occur at least twice on average.
    amplifier
        The paper's weight of --y, ξ. By default 10 for labels. Numbers of a table are used by a
        regression instead, unless this is given.
    device
        Device to run on, such as cuda.
    random_state
        Seed: the same seed gives the same model. By default one is drawn, and saved in config.yaml.
    resume
        Continue the interrupted run in this folder.
    distributed
        Share the fit among the processes that python -m sliceflow.launch or torchrun started.
    dry_run
        Print the schedule and the time and memory that the fit would take, without running it.
    json
        Print the results of a dry run as JSON.
    tensorboard
        Also log the run for TensorBoard; view it with tensorboard --logdir runs. Needs the extra
        of that name.
    data_dir
        Folder for downloaded data sets. By default SLICEFLOW_DATA, or ~/.cache/sliceflow.
    """

    data: str
    out: Path | None = None
    y: str | None = None
    observed: str | None = None
    columns: str | None = None
    types: str | None = None
    update: str | None = None
    schedule: Literal["quick", "standard", "best"] = "standard"
    effort: float = 1.0
    minutes: float | None = None
    n_particles: int | None = None
    batch_size: int | None = None
    size: Size | None = None
    flips: bool = False
    stream: bool = False
    y_type: Literal["labels", "numbers"] | None = None
    amplifier: float | None = None
    device: str = "cpu"
    random_state: int | None = None
    resume: bool = False
    distributed: bool = False
    dry_run: bool = False
    json: bool = False
    tensorboard: bool = False
    data_dir: Path | None = None


@dataclass
class Sample:
    """Draw new samples from a model.

    For example:
      sliceflow sample runs/mnist --y 7 --out sevens.png
      sliceflow sample runs/flowers --y setosa --n 1000 --out flowers.csv
      sliceflow sample runs/people --given "city=Paris,age=30..40"
      sliceflow sample model.zip --n 50000 --out samples.npz

    Parameters
    ----------
    model
        Folder of a run, or file of a model.
    n
        Number of samples.
    y
        Condition: a label, or the values of the columns of y, separated by commas. By default
        equally many samples of each label.
    given
        Values of some columns of a table that was fitted without --y: age=30,city=Paris. A range is
        written age=30..40, and one of several values city=Paris|Rome.
    out
        Output: an image grid (.png), arrays (.npz), a table (.csv or .parquet), or a folder of
        images. By default samples.png for images and samples.csv for a table.
    device
        Device to run on, such as cuda.
    random_state
        Seed: the same seed gives the same samples. By default every call draws new ones.
    """

    model: Path
    n: int = 100
    y: str | None = None
    given: str | None = None
    out: Path | None = None
    device: str = "cpu"
    random_state: int | None = None


@dataclass
class Inpaint:
    """Fill in the missing part of images.

    For example:
      sliceflow inpaint runs/cifar10 cifar10 --out filled.png
      sliceflow inpaint runs/photos damaged/ --n 3 --out filled/

    Parameters
    ----------
    model
        Folder of a run, or file of a model, that was fitted with --observed.
    images
        mnist, fashion-mnist, cifar10 or celeba, for images of the test set; or the path of a
        folder of images or of an npz file.
    n
        Number of samples for each image.
    max_images
        Maximum number of images to fill in.
    out
        Output: a grid of the observed part, the samples and the original (.png), arrays (.npz), or
        a folder with all samples, one image after the other.
    device
        Device to run on, such as cuda.
    random_state
        Seed: the same seed gives the same samples. By default every call draws new ones.
    data_dir
        Folder of downloaded data sets. By default SLICEFLOW_DATA, or ~/.cache/sliceflow.
    """

    model: Path
    images: str
    n: int = 8
    max_images: int = 10
    out: Path = Path("filled.png")
    device: str = "cpu"
    random_state: int | None = None
    data_dir: Path | None = None


@dataclass
class Impute:
    """Fill the gaps of a table.

    Each gap is drawn given what is there; what is there stays as it is.

    For example:
      sliceflow impute people.csv
      sliceflow impute people.csv --n 5 --out filled.csv      filled-1.csv to filled-5.csv

    Parameters
    ----------
    table
        The path of a CSV or Parquet table.
    n
        Number of completed tables.
    out
        Output: a file, or several with numbers in their names. By default completed.csv.
    random_state
        Seed: the same seed fills gaps alike. By default every call draws new values.
    """

    table: Path
    n: int = 1
    out: Path = Path("completed.csv")
    random_state: int | None = None


@dataclass
class Evaluate:
    """Measure how close samples are to data.

    Images are compared by FID, KID, precision and recall, and by the distance to the nearest image
    of the data. FID depends on the number of images: compare only values with the same n. Tables
    are compared column by column, by how well a classifier tells samples from data (C2ST, at best
    0.5), and by the distance to the nearest row, which shows copies. The samples of a flow given y
    are compared by the sliced distance.

    For example:
      sliceflow evaluate runs/mnist
      sliceflow evaluate samples.npz --data cifar10 --json
      sliceflow evaluate runs/people --data others.csv --out quality.html

    Parameters
    ----------
    samples
        Folder of a run, file of a model, or samples: an npz file of images, a folder of images, or
        a CSV or Parquet table.
    data
        Data to compare with. By default the data of the run.
    n
        Number of samples to draw from a model, and of rows of data to compare them with.
    out
        Output for tables: also a page with pictures (.html).
    json
        Print JSON.
    data_dir
        Folder of downloaded data sets. By default SLICEFLOW_DATA, or ~/.cache/sliceflow.
    """

    samples: Path
    data: str | None = None
    n: int = 5000
    out: Path | None = None
    json: bool = False
    data_dir: Path | None = None


@dataclass
class Info:
    """Describe a model or a run.

    For example:
      sliceflow info runs/mnist
      sliceflow info model.zip --json

    Parameters
    ----------
    path
        Folder of a run, or file of a model.
    json
        Print JSON.
    """

    path: Path
    json: bool = False


@dataclass
class Export:
    """Write a page that samples a model of images in the browser, with no server behind it.

    For example:
      sliceflow export runs/mnist --web site
      python -m http.server --directory site        open http://localhost:8000

    Parameters
    ----------
    model
        Folder of a run, or file of a model.
    web
        Folder to write: a page, its scripts, and a smaller model. Any web server can serve it.
    """

    model: Path
    web: Path = Path("site")


@dataclass
class Serve:
    """Answer requests for samples over HTTP.

    It serves the models that are named here, and nothing else. POST /v1/models/NAME/samples draws
    samples, GET /v1/models says what each model can be given, and /openapi.json describes all
    requests. SIGTERM ends it when all requests that it has accepted are answered.

    For example:
      sliceflow serve runs/mnist runs/flowers
      sliceflow serve model.zip --host 0.0.0.0 --port 80

    Set SLICEFLOW_TOKEN in the environment to a secret: then requests need the header
    "Authorization: Bearer" and this secret.

    Parameters
    ----------
    models
        Folders of runs, or files of models. Each is served by the name of its folder or file.
    host
        Address to listen on; 0.0.0.0 for all, also from other machines.
    port
        Port to listen on; 0 for any that is free.
    max_n
        Maximum number of samples of a request.
    max_mb
        Maximum size of a request in MiB.
    queue
        Maximum number of requests that wait or are being answered: others get status 429.
    seconds
        Maximum time of a request: then it gets status 504.
    """

    models: list[Path]
    host: str = "127.0.0.1"
    port: int = 8000
    max_n: int = 10_000
    max_mb: int = 16
    queue: int = 100
    seconds: float = 60.0


@dataclass
class Reproduce:
    """Reproduce a figure or a table of the paper, scaled down to two CPU cores.

    For example:
      sliceflow reproduce figure-2d
      sliceflow reproduce ablation-h --size full --out docs/images

    Parameters
    ----------
    name
        figure-2d (appendix A), figure-projections, figure-classes, figure-inpainting, table-fid,
        ablation-h, ablation-m, ablation-xi, or engines: the paper's engine next to ours.
    size
        small is for a first look; full is the size of the figures in docs/results.md, which also
        has the time that each fit took.
    out
        Folder for images.
    """

    name: Literal[
        "figure-2d",
        "figure-projections",
        "figure-classes",
        "figure-inpainting",
        "table-fid",
        "ablation-h",
        "ablation-m",
        "ablation-xi",
        "engines",
    ]
    size: Literal["small", "full"] = "small"
    out: Path = Path("reproduced")


@dataclass
class Bench:
    """Measure how fast a step of the flow is on this machine.

    Each number is a median of five: the time of a step, its ratio to the time of its matrix
    products alone, and the ratio of the paper's step to ours. Run it on an idle machine.

    For example:
      sliceflow bench
      sliceflow bench --json

    Parameters
    ----------
    json
        Print JSON.
    """

    json: bool = False
