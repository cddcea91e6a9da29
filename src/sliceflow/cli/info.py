"""`sliceflow info`: what a model or a run is."""

import json
from typing import Any

import yaml

from sliceflow._terminal import say
from sliceflow.cli.files import model_file
from sliceflow.cli.options import Info
from sliceflow.io import describe
from sliceflow.runs import Run


def run(options: Info) -> None:
    """Print it."""
    place = Run(options.path)
    is_run = place.config.exists()
    told: dict[str, Any] = {"run": place.settings()} if is_run else {}
    if is_run and (moments := place.moments()):
        told["so far"] = moments[-1]
    if is_run and not place.model.exists():
        told["to go on"] = place.resume()
    card = ""
    if not is_run or place.model.exists():
        told["model"], card = describe(model_file(options.path))
    if options.json:
        print(json.dumps(told))
        return
    told.pop("model", None)
    say((yaml.safe_dump(told, sort_keys=False) if told else "") + card)
