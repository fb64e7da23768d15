"""How long this machine keeps a thread waiting, measured while a test runs.

Owns: a watcher for each CPU, which sleeps a millisecond at a time, writes to a file as often as the sampler does, and remembers
how much later than that it came. Why: what a recording lacks because the sampler got no CPU or no disk is the machine's doing,
and no fixed number says how much that is on a machine whose own CPUs are somebody else's threads.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

WATCH = """
import os, sys
from time import monotonic_ns, sleep
os.sched_setaffinity(0, {int(sys.argv[1])})
worst_ns, written_ns = 0, 0
with open(sys.argv[2], "wb", buffering=0) as file:
    while os.getppid() == int(sys.argv[3]):
        began_ns = monotonic_ns()
        sleep(0.001)
        if began_ns - written_ns > 250_000_000:
            written_ns = began_ns
            file.write(bytes(65536))
        late_ns = monotonic_ns() - began_ns - 1_000_000
        if late_ns > worst_ns:
            worst_ns = late_ns
            print(worst_ns, flush=True)
"""


@dataclass
class Stalls:
    folder: Path

    def worst_ns(self) -> int:
        """The longest wait so far, of any CPU."""
        said = [file.read_text().split() for file in self.folder.glob("said-*")]
        assert said and all(said), "a watcher has not begun yet"
        return max(int(words[-1]) for words in said)


@pytest.fixture
def stalls(tmp_path: Path) -> Iterator[Stalls]:
    watchers = []
    for cpu in sorted(os.sched_getaffinity(0)):
        with (tmp_path / f"said-{cpu}").open("w") as said:
            command = [sys.executable, "-S", "-c", WATCH, str(cpu), str(tmp_path / f"written-{cpu}"), str(os.getpid())]
            watchers.append(subprocess.Popen(command, stdout=said))
    yield Stalls(tmp_path)
    for watcher in watchers:
        watcher.kill()
        watcher.wait()
