"""A client of one server after the other: a connection a request, and the time until the answer is there.

Owns: that time, and how a server's address is awaited. Never: asks another machine.
"""

import http.client
import re
import statistics
import sys
import time
from pathlib import Path

WAIT_SECONDS = 30


def asked(port: int, expected: bytes | None = None) -> float:
    """Milliseconds until the last byte that the answer's head announces. Whether the server closes the connection does not matter."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
    connection.request("GET", "/")
    answer = connection.getresponse()
    body = answer.read()
    took_ms = (time.perf_counter() - began) * 1000
    connection.close()
    if answer.status != 200 or expected is not None and body != expected:
        sys.exit(f"error: the server on port {port} answered {answer.status}, {body[:50]!r}")
    return took_ms


def port_in(log: Path, pattern: re.Pattern[str]) -> int:
    """What a server that has started writes of it."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if found := pattern.search(log.read_text(errors="replace")):
            return int(found[1])
        time.sleep(0.05)
    sys.exit(f"error: no server came up\n{log.read_text(errors='replace')}")


def slowest(took_ms: list[float]) -> float:
    """99 % take at most that."""
    return statistics.quantiles(took_ms, n=100)[-1]
