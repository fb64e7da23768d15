"""Waiting is what CPU and run queue do not explain: programs that wait hundreds of times for less than a tick, and programs that never
wait, alone and beside processes that take every CPU. The verdict of each is known, however busy the machine is.
"""

import os
import re
from contextlib import nullcontext

import pytest

from busy import busy
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Run, Workshop

pytestmark = pytest.mark.measures

# At 1 kHz each wait is shorter than the time between two ticks.
FLAGS = ("--rate", "1000")
CPUS = len(os.sched_getaffinity(0))
MACHINES = {"quiet": nullcontext, "busy": lambda: busy(CPUS)}

# How often each waits, and the line that says what for.
WAITS = {
    "pipes": ("500", "pipes   os.read(answered, 1)   waiting for data (read on a pipe)"),
    "thread": ("500", "queries   client.recv(100)   waiting for data (recvfrom on a socket)"),
    "process": ("500", "queries   client.recv(100)   waiting for data (recvfrom on a socket)"),
    "items": ("500", "items   made.get()   waiting for a lock (futex)"),
    "messages": ("500", "messages   made.get()   waiting for data (read on a pipe)"),
}
# How much of each.
WORK = {
    "hashes": "200",
    "reads": "8000",
    "messages": "50000",
    "files_by_two_threads": "150",
    "convoy": "8000000",
    "compiles": "4",
}


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


def recorded(workshop: Workshop, machine: str, program: str, *arguments: str) -> Run:
    with MACHINES[machine]():
        run = workshop.run(workshop.program(f"tests/verdicts/{program}.py"), *arguments, flags=FLAGS)
    assert run.exit_code == 0, run.stderr
    return run


@pytest.mark.parametrize("name", WAITS)
def test_short_waits_are_waits(workshop: Workshop, machine: str, name: str) -> None:
    times, says = WAITS[name]
    if workshop.interpreter.lists_lock_waits:
        says = says.replace("a lock (futex)", "a threading.Lock (futex)")
    screen = recorded(workshop, machine, "short_waits", name, times).report()
    assert screen.splitlines()[2].startswith("waiting: "), screen
    assert says in screen, screen
    # After each wait the kernel gave the thread a CPU. Of a single wait that was seen to begin no number is told, and who takes from a queue
    # need not wait for each thing in it.
    waits = re.search(re.escape(says) + r", (?:\d+ to|at most) ([\d,]+) waits", screen)
    if waits and name not in ("items", "messages"):
        assert int(waits[1].replace(",", "")) >= int(times), screen
    assert waits or f"{says}\n" in screen, screen


def test_a_commit_for_each_row_waits_for_the_disk(workshop: Workshop, machine: str) -> None:
    run = recorded(workshop, machine, "short_waits", "commits", "300")
    if not run.answer():
        pytest.skip("no sqlite3, or a file system that does not wait for a disk")
    screen = run.report()
    assert screen.splitlines()[2].startswith("waiting: "), screen
    # CPython's own SQLite may have been built without fdatasync.
    assert re.search(r"commits   rows\.commit\(\)   writing to disk \(f(data)?sync\b", screen), screen


@pytest.mark.parametrize("name", WORK)
def test_work_is_never_a_wait(workshop: Workshop, machine: str, name: str) -> None:
    assert_work(recorded(workshop, machine, "never_waiting", name, WORK[name]))


def assert_work(run: Run) -> None:
    assert run.report_json()["verdict"]["name"] not in ("waiting", "too short to judge"), run.report()


# What a thread did before the recording and in its pauses: `copies` is work (inside.py), `answers` is a wait for each of them.
ANSWERS = """
import socket, threading

client, server = socket.socketpair()

def answer():
    while server.recv(1):
        time.sleep(0.0003)
        server.sendall(b"!")

threading.Thread(target=answer, daemon=True).start()

def answers(count):
    for _ in range(count):
        client.sendall(b"?")
        client.recv(1)
"""


def test_waits_of_other_times_make_no_wait(inside: Inside, machine: str) -> None:
    with MACHINES[machine]():
        inside.said(
            ANSWERS
            + """
answers(300)
genba.start("app.genba", interval_ns=1_000_000)
during(100)
genba.pause()
answers(300)
genba.resume()
during(100)
genba.stop()
"""
        )
    assert_work(inside.recording("app.genba"))


def test_the_run_queue_of_other_times_explains_no_wait(inside: Inside) -> None:
    """A process that was busy for long, beside others, begins to wait, and is busy again in a pause."""
    with busy(CPUS):
        inside.said(
            ANSWERS
            + """
before(300)
genba.start("app.genba", interval_ns=1_000_000)
answers(300)
genba.pause()
during(300)
genba.resume()
answers(300)
genba.stop()
"""
        )
    screen = inside.recording("app.genba").report()
    assert screen.splitlines()[2].startswith("waiting: ") and "client.recv(1)   waiting for data" in screen, screen
