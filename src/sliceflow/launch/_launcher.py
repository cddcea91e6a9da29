"""Starts processes by torchrun, and starts them again if one of them is killed."""

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

from sliceflow.core._exits import FAILED, SIGNALLED, WRONG_USE, exit_with
from sliceflow.core._terminal import print_safely
from sliceflow.launch._worker import Failure

DEFAULTS = ("--rdzv-backend=c10d", "--max-restarts=100", "--monitor-interval=0.5")
"""Options of torchrun that yours override."""

MAX_FAILURES = 3
"""Number of attempts in a row with the same error after which a launch ends."""


class RepeatedError(Exception):
    """An error that would occur in the next attempt, too."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Attempts(LogsSpecs):
    """Files for the errors of processes, which torchrun asks for before each attempt.

    At that time the errors of the last attempt are checked, and the launch may end.
    """

    def __init__(self, files: LogsSpecs) -> None:
        self._files = files
        self._last: list[str] = []
        self._history: list[set[str]] = []

    @property
    def root_log_dir(self) -> str:
        """The folder of all attempts."""
        return self._files.root_log_dir

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """Return the files of the next attempt, unless the last one failed for good."""
        if self._last:
            self._check_last()
        files = self._files.reify(envs)
        self._last = list(files.error_files.values())
        return files

    def failures(self) -> list[Failure]:
        """Return the errors of the last attempt, earliest first."""
        found = [Failure.read(path) for path in self._last]
        return sorted(filter(None, found), key=lambda failure: failure.timestamp)

    def _check_last(self) -> None:
        """Raise an error if the last attempt failed like those before it, or by wrong usage."""
        failures = [failure for failure in self.failures() if failure.code < SIGNALLED]
        self._history.append({failure.place for failure in failures})
        recent = self._history[-MAX_FAILURES:]
        repeated = set.intersection(*recent) if len(recent) == MAX_FAILURES else set()
        for failure in failures:
            if failure.place in repeated or failure.code == WRONG_USE:
                raise RepeatedError(failure)
        what = "failed" if failures else "was killed or lost its connection"
        print(f"sliceflow.launch: a process {what}: restarting all processes", file=sys.stderr)


def main(arguments: list[str]) -> None:
    """Start processes on this host, which join those of other hosts, if there are any."""
    # If agents shared their store with workers, workers of a second attempt would connect to the
    # addresses of the first (pytorch issues 135712 and 167288).
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Its messages are about any failed process, often not about the one that failed first.
    logging.getLogger("torch.distributed.elastic.multiprocessing.api").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="sliceflow-launch-") as folder:
        options = parse_args([*DEFAULTS, *arguments])  # type: ignore[no-untyped-call]
        launch(prepared(options, folder))


def prepared(options: Namespace, folder: str) -> Namespace:
    """Return torchrun's options for workers that write their errors to a folder."""
    if options.log_dir in (None, os.devnull):
        options.log_dir = folder
    is_one_host = options.nnodes in ("1", "1:1")
    if options.standalone or (is_one_host and not options.rdzv_endpoint):
        # its own port and id, so that it does not join another launch on this host
        options.rdzv_endpoint, options.rdzv_id = "localhost:0", str(uuid.uuid4())
    if not (options.no_python or options.run_path):
        script = ["-m"] * options.module + [options.training_script]
        options.training_script_args = [*script, *options.training_script_args]
        options.module, options.training_script = True, "sliceflow.launch._worker"
    return options


def launch(options: Namespace) -> None:
    """Run the processes. If they fail for good, print the error once."""
    config, command, arguments = config_from_args(options)
    assert config.logs_specs is not None
    config.logs_specs = attempts = Attempts(config.logs_specs)
    try:
        elastic_launch(config, command)(*arguments)
    except RepeatedError as error:
        exit_with(error.failure.message, error.failure.code)
    except ChildFailedError as error:
        messages = [failure.message for failure in attempts.failures()]
        exit_with(messages[0] if messages else str(error), FAILED)
    except SignalException as ended:
        for failure in attempts.failures()[:1]:
            print_safely(failure.message, sys.stderr)
        sys.exit(SIGNALLED + ended.sigval)
    except (RendezvousClosedError, RendezvousConnectionError):
        exit_with("sliceflow.launch: other hosts ended the launch: see their output", FAILED)
