"""How long this machine keeps a thread waiting, measured while a test runs.

Owns: a watcher for each CPU, which sleeps a millisecond at a time, writes to a file as often as the sampler does, and remembers
how much later than that it came. Why: what a recording lacks because the sampler got no CPU or no disk is the machine's doing,
and no fixed number says how much that is on a machine whose own CPUs are somebody else's threads.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from recording import Run

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
        if late_ns > min(worst_ns, int(sys.argv[4])):
            worst_ns = max(worst_ns, late_ns)
            print(began_ns, late_ns, flush=True)
"""

# Each wait that is longer than this is remembered; of shorter ones the longest.
TOLD_NS_MIN = 1_000_000


@dataclass
class Stalls:
    folder: Path

    def worst_ns(self, since_ns: int = 0) -> int:
        """The longest wait so far, of any CPU, that ended after that moment of the monotonic clock."""
        said = [[tuple(map(int, line.split())) for line in whole_lines(file)] for file in self.folder.glob("said-*")]
        assert said and all(said), "a watcher has not begun yet"
        return max((late_ns for waits in said for began_ns, late_ns in waits if began_ns + late_ns > since_ns), default=0)


RUNS_MAX = 5


def undisturbed(stalls: Stalls, limit_ns: int, run: Callable[[], Run], is_well: Callable[[Run], bool] = lambda done: False) -> Run:
    """The first of some runs that is well, or in which this machine kept nobody waiting for so long; the last one, where there is none."""
    for _ in range(RUNS_MAX):
        began_ns = time.monotonic_ns()
        done = run()
        if is_well(done) or stalls.worst_ns(began_ns) < limit_ns:
            break
    return done


def whole_lines(file: Path) -> list[str]:
    return file.read_text().rpartition("\n")[0].splitlines()


@pytest.fixture
def stalls(tmp_path: Path) -> Iterator[Stalls]:
    watchers = []
    for cpu in sorted(os.sched_getaffinity(0)):
        with (tmp_path / f"said-{cpu}").open("w") as said:
            command = [sys.executable, "-S", "-c", WATCH, str(cpu), str(tmp_path / f"written-{cpu}"), str(os.getpid()), str(TOLD_NS_MIN)]
            watchers.append(subprocess.Popen(command, stdout=said))
    while not all(whole_lines(file) for file in tmp_path.glob("said-*")):
        assert all(watcher.poll() is None for watcher in watchers)
        os.sched_yield()
    yield Stalls(tmp_path)
    for watcher in watchers:
        watcher.kill()
        watcher.wait()
