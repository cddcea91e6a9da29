"""Hosts on one machine: network namespaces, each with a link of its own to a switch.

The switch is a bridge in a namespace too: the network of the machine is left alone. Needs root and
`ip` (iproute2).
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

SWITCH = "sliceflow"
NETWORK = "10.77.0"


@dataclass(frozen=True)
class Host:
    """One of them, by its number."""

    number: int

    @property
    def name(self) -> str:
        """The name of its namespace, and of the switch's end of its link."""
        return f"{SWITCH}{self.number}"

    @property
    def address(self) -> str:
        """Where the others find it."""
        return f"{NETWORK}.{self.number + 1}"

    def start(self, command: list[str], **options) -> subprocess.Popen:
        """Start a process on this host."""
        return subprocess.Popen(["ip", "netns", "exec", self.name, *command], **options)

    def set_link(self, state: str) -> None:
        """Take its link up or down."""
        ip("-n", SWITCH, "link", "set", self.name, state)


def ip(*arguments: str) -> None:
    """Call `ip`."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def hosts(n: int) -> Iterator[list[Host]]:
    """Make n hosts, for a while."""
    if os.geteuid() or not shutil.which("ip"):
        raise FileNotFoundError("network namespaces need root and ip (apt-get install iproute2)")
    with ExitStack() as stack:
        made = [Host(number) for number in range(n)]
        for name in (SWITCH, *(host.name for host in made)):
            ip("netns", "add", name)
            stack.callback(ip, "netns", "delete", name)  # with its links
        ip("-n", SWITCH, "link", "add", "bridge", "type", "bridge")
        ip("-n", SWITCH, "link", "set", "bridge", "up")
        for host in made:
            connect(host)
        yield made


def connect(host: Host) -> None:
    """Give a host its link, an address, and itself."""
    switch, inside = ("-n", SWITCH), ("-n", host.name)
    ip(*switch, "link", "add", host.name, "type", "veth", "peer", "eth0", "netns", host.name)
    ip(*switch, "link", "set", host.name, "master", "bridge", "up")
    ip(*inside, "address", "add", f"{host.address}/24", "dev", "eth0")
    ip(*inside, "link", "set", "eth0", "up")
    ip(*inside, "link", "set", "lo", "up")
