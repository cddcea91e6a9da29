"""`sliceflow info`: describe a model or a run."""

import json
from typing import Any

import yaml

from sliceflow.cli._options import Info
from sliceflow.cli._samples import model_file
from sliceflow.core._terminal import print_safely
from sliceflow.models import describe
from sliceflow.runs._run import Run


def run(options: Info) -> None:
    """Print the description."""
    folder = Run(options.path)
    is_run, has_model = folder.config.exists(), folder.model.exists()
    info: dict[str, Any] = {"run": folder.settings()} if is_run else {}
    if is_run and (metrics := folder.read_metrics()):
        info["last metrics"] = metrics[-1]
    if is_run and not has_model:
        info["resume with"] = folder.resume()
    card = ""
    if not is_run or has_model:
        info["model"], card = describe(model_file(options.path))
    if options.json:
        print(json.dumps(info))
        return
    info.pop("model", None)
    print_safely((yaml.safe_dump(info, sort_keys=False) if info else "") + card)
