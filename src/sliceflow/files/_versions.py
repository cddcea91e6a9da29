"""The format of model files of flows, and how files of older versions are converted."""

from sliceflow.core._reading import FileError
from sliceflow.files._archive import Config, Migrations

FORMAT, VERSION = "sliceflow model", 5


def _from_version_1(config: Config) -> Config:
    """Convert version 1: NumPy made all draws, files had no support, and no patch was narrow."""
    stages = [
        stage | {"patch": None} if (stage["patch"] or 0) >= (stage["resolution"] or 1) else stage
        for stage in config["schedule"]
    ]
    added = {"version": 2, "random": "NumPyRandom", "libraries": {}, "has_support": False}
    return config | {"schedule": stages} | added


def _from_version_2(config: Config) -> Config:
    """Convert version 2: entropy and fixed directions were not in the engine; y had no kind."""
    variants = {"entropy": config["entropy"], "fixed_directions": config["fixed_directions"]}
    engine, condition = config["engine"], config["condition"]
    if engine["name"] == "Exact":
        engine = engine | variants | {"n_cdf": None}
    elif any(variants.values()):
        raise FileError("only Exact has entropy and fixed directions now: fit it again")
    x = {"dtype": config["dtype"], "is_tensor": config["is_tensor"]}
    columns = {"Columns": condition["l"], "Label": 1}.get(condition["name"], 0)
    shape = [columns] if columns > 1 else []
    y = x | {"dtype": "torch.float64", "shape": shape} if columns else None
    old = ("entropy", "fixed_directions", "dtype", "is_tensor")
    kept = {key: value for key, value in config.items() if key not in old}
    return kept | {"version": 3, "engine": engine, "x": x, "y": y}


def _from_version_3(config: Config) -> Config:
    """Convert version 3: all steps had the size of the engine, and there was no regression."""
    stages = [stage | {"step_size": 1.0} for stage in config["schedule"]]
    condition = config["condition"] | {"n_summary": 0}
    changed = {"schedule": stages, "condition": condition}
    return config | changed | {"version": 4, "candidates": [], "words": None}


def _from_version_4(config: Config) -> Config:
    """Convert version 4: no knots had 8 bits."""
    return config | {"version": 5}


MIGRATIONS: Migrations = {
    1: _from_version_1,
    2: _from_version_2,
    3: _from_version_3,
    4: _from_version_4,
}
"""For each version, the function that converts its config to the next version."""
