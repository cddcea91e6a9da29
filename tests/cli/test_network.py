"""With data at hand nothing is sent: no command opens a connection or looks up a host."""

import os
import shutil
import subprocess
import sys

import pytest
from own_data import make_photos

from sliceflow.data import data_folder

NETWORK = data_folder() / "inception" / "inception_pool3.pt"
IN_CI = ("CI", "TF_BUILD", "JENKINS_URL")
"""Variables that keep some programs from sending anything: a user does not have them."""

HOOK = """
import os, sys

SENT = ("socket.connect", "socket.getaddrinfo", "socket.gethostby", "socket.sendto",
        "socket.sendmsg", "http.client.connect", "urllib.Request")

def watch(event, arguments):
    if event.startswith(SENT):
        with open(os.environ["SEEN"], "a") as file:
            print(event, *map(repr, arguments), file=file)
        raise OSError("there is no network")

sys.addaudithook(watch)
"""

TRACE = (
    "strace",
    "-f",
    "-qq",
    "--seccomp-bpf",
    "-e",
    "trace=connect,sendto,sendmsg,sendmmsg",
    "-o",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with photos, an empty home, and the network of `evaluate` if there is one."""
    folder = tmp_path_factory.mktemp("network")
    make_photos(folder / "photos", ("bright", "dark"), 10)
    for name in ("home", "hook", "data/inception"):
        (folder / name).mkdir(parents=True)
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    if NETWORK.exists():
        (folder / "data" / "inception" / NETWORK.name).symlink_to(NETWORK)
    return folder


def by_hook(place, command):
    """Run a command; return what Python was asked to send, which is refused."""
    seen = place / "seen.txt"
    seen.write_text("")
    path = os.pathsep.join([str(place / "hook"), os.environ.get("PYTHONPATH", "")])
    run(place, command, SEEN=str(seen), PYTHONPATH=path)
    return seen.read_text().splitlines()


def by_trace(place, command):
    """Run a command; return what the kernel was asked to send, by any process or library."""
    if shutil.which("strace") is None or subprocess.run([*TRACE, os.devnull, "true"]).returncode:
        pytest.skip("strace is not there, or may not trace")
    seen = place / "seen.txt"
    run(place, [*TRACE, str(seen), *command])
    return [line for line in seen.read_text().splitlines() if "AF_INET" in line or "esolve" in line]


def run(place, command, **variables):
    kept = {name: value for name, value in os.environ.items() if name not in IN_CI}
    own = {"HOME": str(place / "home"), "SLICEFLOW_DATA": str(place / "data")}
    done = subprocess.run(
        command, env=kept | own | variables, cwd=place, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("seen_by", [by_hook, by_trace])
def test_the_watchers_see_what_is_sent(place, seen_by):
    """Also a look-up of a host, and by a process that was started."""
    look_up = "import socket\ntry: socket.getaddrinfo('example.invalid', 80)\nexcept OSError: pass"
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {look_up!r}])"
    send = "import socket\ntry: socket.create_connection(('127.0.0.1', 9))\nexcept OSError: pass"
    for code in (send, start):
        assert seen_by(place, [sys.executable, "-c", code])


@pytest.mark.slow
@pytest.mark.parametrize("seen_by", [by_hook, by_trace])
def test_nothing_is_sent(place, seen_by):
    """And nothing is left at home but the compiler's cache."""
    model = f"runs/{seen_by.__name__}"
    fit = ("fit", "photos", "--effort", "0.02", "--tensorboard", "--out", model)
    commands = [fit, ("sample", model), ("info", model)]
    if NETWORK.exists():
        commands.append(("evaluate", model, "--n", "20"))
    for command in commands:
        assert seen_by(place, [sys.executable, "-m", "sliceflow", *command]) == []
    assert {path.name for path in (place / "home").iterdir()} <= {".cache"}
    if not NETWORK.exists():
        pytest.skip(f"evaluate was not watched: no network in {NETWORK.parent}")
