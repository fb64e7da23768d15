"""A preloaded library with a clock, files and threads of its own: they are the program's. genba asks the kernel, and its times are the kernel's."""

import time
from pathlib import Path

import pytest

from preloaded import Preloaded, behind_and_before, build
from profile_tables import RUNNING
from recording import Workshop

PROGRAM = """
import sys, threading, time
def hot():
    for _ in range(60): sum(range(100_000))
threads = [threading.Thread(target=hot) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
hot()
print(time.monotonic() > 5 * float(open("/proc/uptime").read().split()[0]))
sys.exit(7)
"""


@pytest.fixture(scope="session")
def other_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("clock"), "other_clock")


@behind_and_before
def test_a_clock_that_is_preloaded(workshop: Workshop, other_clock: Path, place: str) -> None:
    program = Preloaded(workshop, workshop.take(other_clock), [workshop.interpreter.path, workshop.write("clock.py", PROGRAM)])
    alone = program.alone()
    assert (alone.returncode, alone.stdout.count("True")) == (7, 1), alone
    assert program.called() == ["0 3"]
    began_ns = time.time_ns()
    run = program.recorded(place)
    assert (run.exit_code, run.stdout) == (7, alone.stdout), run.stderr
    assert program.called() == ["1 3"], "genba's library called these, or made a thread by the library's function"
    run.check_laws()
    profile = run.profile()
    assert began_ns <= profile["meta"]["start_realtime_ns"] <= time.time_ns()
    said = [mark["text"] for mark in profile["marks"] if mark["kind"] == "note" and "reads the clock of" in mark["text"]]
    assert len(said) == 1 and program.library in said[0], profile["marks"]
    assert profile.sum("samples", lambda row: row.state in RUNNING and "hot" in row.names()) > 20
    assert not any(process["accounting"]["dropped"].get("stopped", 0) for process in profile["processes"])
