"""What each command is asked for: its options, their defaults, and its help."""

import re
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Self

STARTED = perf_counter()
"""When the process began, nearly: all else is imported after this."""


class Size(tuple[int, int]):
    """A height and a width."""

    @classmethod
    def read(cls, value: Any) -> Self:
        """Return a size that is written as 64, 64x48, 64,48 or [64,48]."""
        words = re.split("[x,]", value.strip("[]")) if isinstance(value, str) else value
        sides = [int(side) for side in ([words] if isinstance(words, int) else words)]
        height, width = sides * 2 if len(sides) == 1 else sides
        return cls((height, width))


@dataclass
class Fit:
    """Move particles from noise onto data, and save how: the model.

    For example:
      sliceflow fit mnist --condition label --preset quick
      sliceflow fit photos/ --size 64 --minutes 30 --out runs/photos
      sliceflow fit cifar10 --condition left        given the left half, fill in the right
      sliceflow fit flowers.csv --condition species
      sliceflow fit many.parquet --stream           more than fits in memory
      sliceflow fit mnist --dry-run                 the schedule, how long, and how much memory

    Parameters
    ----------
    data
        mnist, fashion-mnist, cifar10 or celeba; or the path of a folder of images, with a folder
        for each class if there are any, of an npz file, or of a CSV table.
    out
        The folder of the run. By default runs/ and the name of the data.
    condition
        What samples are given: none; label; left, right, top or bottom for that half of an image;
        the path of an image that is white where pixels are given; or columns of a table, by name.
    columns
        The columns of a table to model, by name. By default all others.
    preset
        How many steps: more come nearer to the data.
    effort
        Times the steps of the preset.
    minutes
        Take so long: sets the effort.
    particles
        How many. By default as many as the data has rows, but not more than 10000.
    batch
        The most rows of data that a step sees.
    size
        Bring images of a folder to this height and width, as 64x48, or 64 for both.
    flips
        Also learn the mirror images.
    stream
        Read the data as it is needed: a folder of images, of Parquet or of tar files, or a file
        that ends in parquet, tar, npy or npz.
    y_type
        What a column that is given has: labels or numbers. By default words, and whole numbers of
        at most 100 different values that each occur twice on average, are labels.
    amplifier
        How much the condition weighs. By default 10 for labels and 1 for numbers.
    seed
        The same seed gives the same model.
    resume
        Go on where the run in this folder was stopped.
    dry_run
        Print the schedule, and how long and how much memory it would take, and end.
    json
        Print what a dry run finds as JSON.
    tensorboard
        Also show the run in TensorBoard: tensorboard --logdir runs. Needs the extra of that name.
    data_dir
        Where data sets are, or are to be put. By default SLICEFLOW_DATA, else ~/.cache/sliceflow.
    """

    data: str
    out: Path | None = None
    condition: str = "none"
    columns: str | None = None
    preset: Literal["quick", "standard", "best"] = "standard"
    effort: float = 1.0
    minutes: float | None = None
    particles: int | None = None
    batch: int = 20_000
    size: Size | None = None
    flips: bool = False
    stream: bool = False
    y_type: Literal["labels", "numbers"] | None = None
    amplifier: float | None = None
    seed: int = 0
    resume: bool = False
    dry_run: bool = False
    json: bool = False
    tensorboard: bool = False
    data_dir: Path | None = None


@dataclass
class Sample:
    """Draw new samples from a model.

    For example:
      sliceflow sample runs/mnist --given 7 --out sevens.png
      sliceflow sample runs/flowers --given setosa --n 1000 --out flowers.csv
      sliceflow sample model.zip --n 50000 --out samples.npz

    Parameters
    ----------
    model
        The folder of a run, or the file of a model.
    n
        How many.
    given
        The label, by default some of each; or the values of given columns, separated by commas.
    out
        A picture (.png), arrays (.npz), a table (.csv), or a folder of pictures. By default
        samples.png for images and samples.csv for a table.
    seed
        The same seed gives the same samples. By default each call gives new ones.
    """

    model: Path
    n: int = 100
    given: str | None = None
    out: Path | None = None
    seed: int | None = None


@dataclass
class Inpaint:
    """Fill in the rest of images, given a part of each.

    For example:
      sliceflow inpaint runs/cifar10 cifar10 --out filled.png
      sliceflow inpaint runs/photos damaged/ --n 3 --out filled/

    Parameters
    ----------
    model
        The folder of a run, or the file of a model, fitted with such a condition.
    images
        mnist, fashion-mnist, cifar10 or celeba, for images of the test set; or the path of a
        folder of images or of an npz file.
    n
        How many samples for each image.
    most
        The most images.
    out
        A picture of what is given, the samples and the original (.png), arrays (.npz), or a folder
        of pictures of all samples, one image after the other.
    seed
        The same seed gives the same samples. By default each call gives new ones.
    data_dir
        Where data sets are. By default SLICEFLOW_DATA, else ~/.cache/sliceflow.
    """

    model: Path
    images: str
    n: int = 8
    most: int = 10
    out: Path = Path("filled.png")
    seed: int | None = None
    data_dir: Path | None = None


@dataclass
class Evaluate:
    """Measure how near samples are to data.

    Images are compared by FID, KID, precision and recall, for which Inception's features take some
    minutes, and by the distance to the nearest image; tables by the sliced distance.
    FID depends on how many there are: compare figures of the same n.

    For example:
      sliceflow evaluate runs/mnist
      sliceflow evaluate samples.npz --data cifar10 --json

    Parameters
    ----------
    samples
        The folder of a run, the file of a model, or samples: an npz file of images, a folder of
        images, or a CSV table, of which the columns of numbers are compared.
    data
        What they are compared with. By default the data of the run.
    n
        How many samples to draw from a model, and rows of data to compare them with.
    json
        Print JSON.
    data_dir
        Where data sets are. By default SLICEFLOW_DATA, else ~/.cache/sliceflow.
    """

    samples: Path
    data: str | None = None
    n: int = 5000
    json: bool = False
    data_dir: Path | None = None


@dataclass
class Info:
    """Say what a model or a run is.

    For example:
      sliceflow info runs/mnist
      sliceflow info model.zip --json

    Parameters
    ----------
    path
        The folder of a run, or the file of a model.
    json
        Print JSON.
    """

    path: Path
    json: bool = False


@dataclass
class Reproduce:
    """Make a figure or a table of the paper again, at a size for two cores.

    For example:
      sliceflow reproduce figure-2d
      sliceflow reproduce ablation-h --size full --out docs/images

    Parameters
    ----------
    name
        figure-2d (appendix A), figure-projections, figure-classes, figure-inpainting, table-fid,
        ablation-h, ablation-m, ablation-xi, or engines: the paper's engine beside ours.
    size
        small takes a minute or two; full is that of docs/results.md, up to an hour.
    out
        The folder for pictures.
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

    Each figure is a median of five: the time of a step, its ratio to the bare matrix products that
    it needs, and that of the paper's step to ours. If others keep the cores busy, figures say less.

    For example:
      sliceflow bench
      sliceflow bench --json

    Parameters
    ----------
    json
        Print JSON.
    """

    json: bool = False
