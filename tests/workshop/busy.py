"""Processes that want all of the CPU, while a program runs; not while a test reads what was recorded."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BUSY_PROCESSES = 4


@contextmanager
def busy(processes: int = BUSY_PROCESSES) -> Iterator[None]:
    command = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
