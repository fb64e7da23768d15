"""Processes that want all of the CPU, whatever the machine has, while a test runs."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

BUSY_PROCESSES = 4


@pytest.fixture
def busy() -> Iterator[None]:
    command = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(command) for _ in range(BUSY_PROCESSES)]
    yield
    for process in started:
        process.kill()
        process.wait()
