"""`sliceflow serve`: answer requests for samples over HTTP."""

import os
import sys
from pathlib import Path

from sliceflow.cli._options import Serve
from sliceflow.cli._samples import load_model
from sliceflow.core._terminal import print_safely
from sliceflow.core._validation import check_integer, check_number

TOKEN = "SLICEFLOW_TOKEN"
"""Environment variable with the token: an argument would be visible to other users."""

LOCAL = ("127.0.0.1", "::1", "localhost")


def run(options: Serve) -> None:
    """Load the models, and serve them until told to stop."""
    try:
        from sliceflow.serve._limits import Limits
        from sliceflow.serve._serve import serve
    except ImportError as error:
        raise ImportError(
            f'the server needs {error.name}: pip install "sliceflow[serve]"'
        ) from error
    limits = Limits(
        check_integer("max_n", options.max_n, 1),
        check_integer("max_mb", options.max_mb, 1, 1024) * 2**20,
        check_integer("queue", options.queue, 1),
        check_number("seconds", options.seconds, positive=True),
        os.environ.get(TOKEN) or None,
    )
    if options.host not in LOCAL and limits.token is None:
        warning = f"anybody who reaches {options.host} may ask for samples: set {TOKEN}"
        print_safely(f"warning: {warning} to a secret, or use --host 127.0.0.1", sys.stderr)
    models = {name: load_model(path) for name, path in named(options.models).items()}
    serve(models, options.host, check_integer("port", options.port, 0, 65535), limits)


def named(paths: list[Path]) -> dict[str, Path]:
    """Return the models by name: that of the folder of a run, or of a file without its suffix."""
    found: dict[str, Path] = {}
    for path in paths:
        name = path.resolve().name if path.is_dir() else path.stem
        if name in found:
            raise ValueError(f"{found[name]} and {path} are both called {name}: rename one of them")
        found[name] = path
    return found
