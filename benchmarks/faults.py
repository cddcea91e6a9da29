"""Fits on many processes, hurt at random: they go on each time, and end with the same bits."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks._hosts import Host, hosts
from benchmarks.forecasts import write_table
from benchmarks.ledger import ROOT, Figure
from benchmarks.ranks import cli_fit, launched, model_sum
from sliceflow.data import load

FITS, FAULTS = 10, 5
"""Fits, and faults in each."""
TIMEOUT = 5
"""Seconds after which a message that was not answered is an error."""
LIMIT = 300
"""Seconds that a fit may take to go on before it counts as hanging."""
SIZE = {"rows": 2000, "particles": 2000}
ROWS, EFFORT, PROCESSES = 1001, 3, 3
"""Of fits by the command line: rows of the table, and steps enough to be hurt in the middle."""


def run(repeats: int, shrink: int) -> Iterator[Figure]:
    """Yield how many faults the fits outlived, and how long they took to go on."""
    yield by_command_line(10 // shrink)
    load("mnist")  # which the fit needs
    wanted = launched(1, **SIZE)["digest"]
    fits, faults = (FITS, FAULTS) if shrink == 1 else (1, 2)
    outlived, waits = 0, []
    for number in range(fits):
        rng = np.random.default_rng(number)
        with hosts(4) as four, tempfile.TemporaryDirectory() as folder:
            seconds, digest = hurt_fit(four, Path(folder), rng, faults)
        outlived += len(seconds) * (digest == wanted)
        waits += seconds
    about = f"faults after which a fit on 4 hosts ended with the same bits, of {fits * faults}"
    yield Figure("faults.ok", outlived, "", about)
    told = f"from a fault to the end of a step after it, a message may take {TIMEOUT} s"
    yield Figure("faults.median", float(np.median(waits)), "s", f"{told}; median")
    yield Figure("faults.longest", max(waits), "s", f"{told}; longest")


def by_command_line(fits: int) -> Figure:
    """Kill a process of each fit by the command line; count those that end with the same model."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, out = folder / "table.csv", folder / "whole"
        write_table(table, ROWS)
        wanted = model_sum(cli_fit(table, out, 1, EFFORT), out)
        same = sum(
            killed_sum(table, folder / str(number), np.random.default_rng(number)) == wanted
            for number in range(fits)
        )
    about = f"fits by the command line on {PROCESSES} processes, one of them killed, that ended"
    return Figure("faults.cli_ok", same, "", f"{about} with the same model.zip, of {fits}")


def killed_sum(table: Path, out: Path, rng: np.random.Generator) -> str:
    """Return the sum of the model of a fit of which a process is killed."""
    launch = cli_fit(table, out, PROCESSES, EFFORT)
    while not (out / "metrics.jsonl").exists() and launch.poll() is None:
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 1))
    if workers := children(launch.pid):
        os.kill(rng.choice(workers), signal.SIGKILL)
    return model_sum(launch, out, LIMIT)


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def hurt_fit(
    four: list[Host], folder: Path, rng: np.random.Generator, faults: int
) -> tuple[list[float], str]:
    """Return how long a fit took to go on after each fault, and the sum it ended with."""
    agents = [Agent(host, four[0], folder) for host in four]
    try:
        seconds = [outlive(agents[rng.integers(4)], folder, rng) for _ in range(faults)]
        for agent in agents:
            agent.thread.join(LIMIT)
    except TimeoutError:
        return [], ""
    finally:
        for agent in agents:
            agent.end()
    told = [line for path in folder.glob("*.out") for line in path.read_text().splitlines()]
    return seconds, json.loads(told[-1])["digest"] if told else ""


def outlive(agent: "Agent", folder: Path, rng: np.random.Generator) -> float:
    """Hurt a fit that goes well, in the middle of a step; return the seconds until it goes on."""
    wait_for(folder, steps_done(folder) + 1)
    time.sleep(rng.uniform(0, 0.5))
    started, step = time.perf_counter(), steps_done(folder)
    FAULT[rng.integers(len(FAULT))](agent, rng)
    wait_for(folder, step + 2)  # one that had begun may still end
    return time.perf_counter() - started


def wait_for(folder: Path, step: int) -> None:
    """Wait until a step is done and saved."""
    started = time.perf_counter()
    while steps_done(folder) < step:
        if time.perf_counter() - started > LIMIT:
            raise TimeoutError
        time.sleep(0.01)


def steps_done(folder: Path) -> int:
    """Return how far a fit is."""
    paths = folder.glob(f"checkpoint-{'[0-9]' * 9}.zip")
    return max((int(path.stem.partition("-")[2]) for path in paths), default=0)


class Agent:
    """What starts a host's process of the fit; it is started again if it fails, as by systemd."""

    def __init__(self, host: Host, first: Host, folder: Path) -> None:
        self.host, self._is_wanted = host, True
        place = f"--rdzv-endpoint={first.address}:29500"  # which the first host cannot tell is its
        meeting = ["--nnodes=4", "--rdzv-id=fit", place, f"--rdzv-conf=is_host={host == first:d}"]
        launcher = ["-m", "sliceflow.launch", *meeting, f"--local-addr={host.address}"]
        options = json.dumps(SIZE | {"checkpoints": str(folder), "minutes": 0})
        self._command = [sys.executable, *launcher, "-m", "benchmarks._ranked", options]
        self._log = folder / f"{host.name}.out"
        self.process = self._start()
        self.thread = threading.Thread(target=self._keep)
        self.thread.start()

    def _start(self) -> subprocess.Popen:
        own = {"GLOO_SOCKET_IFNAME": "eth0", "SLICEFLOW_TIMEOUT": str(TIMEOUT)}
        with self._log.open("a") as out, self._log.with_suffix(".err").open("a") as err:
            return self.host.start(
                self._command, cwd=ROOT, env=os.environ | own, stdout=out, stderr=err
            )

    def _keep(self) -> None:
        while self.process.wait() and self._is_wanted:
            self.process = self._start()

    def worker(self) -> int:
        """Return the process of the fit on this host, when there is one."""
        while not (workers := children(self.process.pid)):
            time.sleep(0.01)
        return workers[0]

    def end(self) -> None:
        """Let it be."""
        self._is_wanted = False
        self.process.kill()
        self.thread.join()


def take_the_link_down(agent: Agent, rng: np.random.Generator) -> None:
    """Take a host's link down for a while."""
    agent.host.set_link("down")
    time.sleep(rng.uniform(1, 2 * TIMEOUT))
    agent.host.set_link("up")


def stop_the_process(agent: Agent, rng: np.random.Generator) -> None:
    """Let it stand still, for ever."""
    os.kill(agent.worker(), signal.SIGSTOP)


def kill_the_process(agent: Agent, rng: np.random.Generator) -> None:
    """Kill a process of the fit."""
    os.kill(agent.worker(), signal.SIGKILL)


def kill_the_agent(agent: Agent, rng: np.random.Generator) -> None:
    """Kill what started the process."""
    agent.process.kill()


FAULT = (take_the_link_down, stop_the_process, kill_the_process, kill_the_agent)
