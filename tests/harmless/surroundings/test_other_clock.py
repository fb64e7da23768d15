"""A preloaded library with a clock, files and threads of its own: they are the program's. genba asks the kernel, and its times are the kernel's."""

import subprocess
import time
from pathlib import Path

import pytest

from built import PROGRAMS
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
    built = tmp_path_factory.mktemp("clock") / "other_clock.so"
    subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", str(PROGRAMS / "other_clock.c"), "-o", str(built), "-ldl"], check=True)
    return built


@pytest.mark.parametrize("place", ["behind", "before"])
def test_a_clock_that_is_preloaded(workshop: Workshop, other_clock: Path, place: str) -> None:
    """Set for the program alone, so that genba's library puts itself in front of it, or for `genba run`, too."""
    library = workshop.take(other_clock)
    target = [workshop.interpreter.path, workshop.write("clock.py", PROGRAM)]
    told = {"CALLED": f"{workshop.place.inside}/called", "LD_PRELOAD": library}
    alone = subprocess.run(
        workshop.place.command(["env", *(f"{name}={value}" for name, value in told.items()), *target]),
        cwd=workshop.place.outside,
        env=workshop.place.environment({}),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (alone.returncode, alone.stdout.count("True")) == (7, 1), alone
    called = workshop.place.outside / "called"
    assert called.read_text() == "0 3\n"
    began_ns = time.time_ns()
    if place == "behind":
        run = workshop.run_target(["env", *(f"{name}={value}" for name, value in told.items()), *target])
    else:
        run = workshop.run_target(target, environment=told)
    assert (run.exit_code, run.stdout) == (7, alone.stdout), run.stderr
    assert called.read_text() == "1 3\n", "genba's library called these, or made a thread by the library's function"
    run.check_laws()
    profile = run.profile()
    assert began_ns <= profile["meta"]["start_realtime_ns"] <= time.time_ns()
    said = [mark["text"] for mark in profile["marks"] if mark["kind"] == "note" and "reads the clock of" in mark["text"]]
    assert len(said) == 1 and library in said[0], profile["marks"]
    assert profile.sum("samples", lambda row: row.state in RUNNING and "hot" in row.names()) > 20
    assert not any(process["accounting"]["dropped"].get("stopped", 0) for process in profile["processes"])
