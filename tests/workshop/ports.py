"""Ports for servers that take no 0 for theirs.

Owns: that nobody else gets such a port before its server does. The kernel gives ports of its own range to all who ask for any, connections too, and
other workers of a run look for ports at the same time. So these lie below that range, and each worker has some of its own.
"""

import itertools
import os
import re
import socket
from pathlib import Path

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
PORTS_OF_A_WORKER = 500
USED = itertools.count()


def free_port() -> int:
    """Never the same one twice in a process."""
    end = int(RANGE.read_text().split()[0]) if RANGE.exists() else 32_768
    worker = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0)
    for number in USED:
        port = end - 1 - worker * PORTS_OF_A_WORKER - number % PORTS_OF_A_WORKER
        with socket.socket() as found:
            try:
                found.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise AssertionError("there is always another number")
