"""Ports for servers that take no 0 for theirs.

Owns: that nobody else gets such a port before its server does. The kernel gives ports of its own range to all who ask for any, connections too, and
other workers of a run look for ports at the same time. So these lie below that range, and each worker has some of its own. Some machines have no
room below it, since the kernel gives all but the first ones: there it is one of those.
"""

import itertools
import os
import re
import socket
from pathlib import Path

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
PORTS_OF_A_WORKER = 500
# Those below it are only root's.
PORT_MIN = 1024
USED = itertools.count()


def free_port() -> int:
    """Another one each time, as long as the worker has some that it did not give yet."""
    end = int(RANGE.read_text().split()[0]) if RANGE.exists() else 32_768
    worker = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0)
    last = end - 1 - worker * PORTS_OF_A_WORKER
    has_own = last - PORTS_OF_A_WORKER >= PORT_MIN
    for number in itertools.islice(USED, PORTS_OF_A_WORKER):
        with socket.socket() as found:
            try:
                found.bind(("127.0.0.1", last - number % PORTS_OF_A_WORKER if has_own else 0))
                return found.getsockname()[1]
            except OSError:
                continue
    raise AssertionError(f"none of {PORTS_OF_A_WORKER} ports from {last} down is free")
