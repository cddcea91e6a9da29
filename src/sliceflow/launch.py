"""torchrun, as a flow needs it: `python -m sliceflow.launch`, with its options and your script.

    python -m sliceflow.launch --nproc-per-node 2 fit.py
    python -m sliceflow.launch --nnodes 1:4 --rdzv-endpoint first-host:29500 fit.py

A process that is killed ends the attempt of all, and they go on from the last checkpoint, as many
as there are: the bits do not depend on how many. An error that ends three attempts in a row ends
the launch, and is printed once.
"""

import logging
import os
import sys
import tempfile
import uuid
from argparse import Namespace

from torch.distributed.elastic.multiprocessing import LogsDest, LogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import RendezvousClosedError, RendezvousConnectionError
from torch.distributed.launcher.api import elastic_launch
from torch.distributed.run import config_from_args, parse_args

from sliceflow._ending import FAILED, SIGNALLED, WRONG_USE, exit_with
from sliceflow._terminal import print_safely
from sliceflow._worker import Failure

DEFAULTS = ("--rdzv-backend=c10d", "--max-restarts=100", "--monitor-interval=0.5")
"""What comes before one's own options, which may say otherwise."""

ENOUGH = 3
"""Attempts in a row with the same error that end a launch."""


class HopelessError(Exception):
    """The next attempt would fail like those before it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Attempts(LogsSpecs):
    """Where processes leave their errors: torchrun asks for it before each attempt.

    This is also when to look at the errors of the last one: if it is hopeless, no other begins.
    """

    def __init__(self, files: LogsSpecs) -> None:
        self._files = files
        self._last: list[str] = []
        self._places: list[set[str]] = []

    @property
    def root_log_dir(self) -> str:
        """The folder of all attempts."""
        return self._files.root_log_dir

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """Return the files of an attempt that is about to begin."""
        if self._last:
            self._judge()
        files = self._files.reify(envs)
        self._last = list(files.error_files.values())
        return files

    def failures(self) -> list[Failure]:
        """Return the errors of the last attempt, the first one first."""
        found = [Failure.read(path) for path in self._last]
        return sorted(filter(None, found), key=lambda failure: failure.timestamp)

    def _judge(self) -> None:
        """Raise an error if the last attempt failed like those before it, or was a wrong use."""
        failures = [failure for failure in self.failures() if failure.code < SIGNALLED]
        self._places.append({failure.place for failure in failures})
        lately = self._places[-ENOUGH:]
        repeated = set.intersection(*lately) if len(lately) == ENOUGH else set()
        for failure in failures:
            if failure.place in repeated or failure.code == WRONG_USE:
                raise HopelessError(failure)
        what = "failed" if failures else "was killed, or lost its connection"
        print(f"sliceflow.launch: a process {what}: starting all of them again", file=sys.stderr)


def main(arguments: list[str]) -> None:
    """Start processes on this host, which meet those of other hosts, if there are any."""
    # With a store that agents share with their workers, those of a second attempt would dial the
    # addresses of the first (pytorch issues 135712 and 167288).
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # It tells the exit code of any process that failed, often not the one that failed first.
    logging.getLogger("torch.distributed.elastic.multiprocessing.api").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="sliceflow-launch-") as folder:
        options = parse_args([*DEFAULTS, *arguments])  # type: ignore[no-untyped-call]
        launch(prepared(options, folder))


def prepared(options: Namespace, folder: str) -> Namespace:
    """Return torchrun's options for workers that leave their errors in a folder."""
    if options.log_dir in (None, os.devnull):
        options.log_dir = folder
    is_one_host = options.nnodes in ("1", "1:1")
    if options.standalone or (is_one_host and not options.rdzv_endpoint):
        # a port and a name of its own: another launch on this host is not to be joined
        options.rdzv_endpoint, options.rdzv_id = "localhost:0", str(uuid.uuid4())
    if not (options.no_python or options.run_path):
        script = ["-m"] * options.module + [options.training_script]
        options.training_script_args = [*script, *options.training_script_args]
        options.module, options.training_script = True, "sliceflow._worker"
    return options


def launch(options: Namespace) -> None:
    """Run the processes. If they fail for good, print why, once."""
    config, command, arguments = config_from_args(options)
    assert config.logs_specs is not None
    config.logs_specs = attempts = Attempts(config.logs_specs)
    try:
        elastic_launch(config, command)(*arguments)
    except HopelessError as error:
        exit_with(error.failure.message, error.failure.code)
    except ChildFailedError as error:
        messages = [failure.message for failure in attempts.failures()]
        exit_with(messages[0] if messages else str(error), FAILED)
    except SignalException as ended:
        for failure in attempts.failures()[:1]:
            print_safely(failure.message, sys.stderr)
        sys.exit(SIGNALLED + ended.sigval)
    except (RendezvousClosedError, RendezvousConnectionError):
        exit_with("sliceflow.launch: other hosts ended the launch: see what they printed", FAILED)


if __name__ == "__main__":
    main(sys.argv[1:])
