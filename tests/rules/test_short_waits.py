"""Waiting is what CPU and run queue do not explain: programs that wait hundreds of times for less than a tick, and programs that never
wait, alone and beside processes that take every CPU. The verdict of each is known, however busy the machine is.
"""

import os
import re
from contextlib import nullcontext

import pytest

from busy import busy
from disturbed import RUNS_MAX, was_disturbed
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Run, Workshop
from runs_on import EVERYWHERE

pytestmark = pytest.mark.measures

# At 1 kHz each wait is shorter than the time between two ticks.
FLAGS = ("--rate", "1000")
CPUS = len(os.sched_getaffinity(0))
MACHINES = {"quiet": nullcontext, "busy": lambda: busy(CPUS)}

# How often each waits, and the line that says what for. So often that the interpreter's start, which is work, is a small part of the run: of 500
# waits it was enough for a verdict between work and waiting.
WAITS = {
    "pipes": ("2000", "pipes   os.read(answered, 1)   waiting for data (read on a pipe)"),
    "thread": ("2000", "queries   client.recv(100)   waiting for data (recvfrom on a socket)"),
    "process": ("2000", "queries   client.recv(100)   waiting for data (recvfrom on a socket)"),
    "items": ("2000", "items   made.get()   waiting for a lock (futex)"),
    "messages": ("2000", "messages   made.get()   waiting for data (read on a pipe)"),
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
# A busy machine is one for all other tests, too: `make test` has some of each kind there.
ON_A_BUSY_MACHINE = {"pipes", "items", "hashes", "convoy"}


def needed(machine: str, name: str) -> None:
    if machine == "busy" and name not in ON_A_BUSY_MACHINE and not EVERYWHERE:
        pytest.skip("make test-all or make soak: it keeps all CPUs busy, and some of its kind do so here")


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


def recorded(workshop: Workshop, machine: str, program: str, *arguments: str) -> Run:
    with MACHINES[machine]():
        run = workshop.run(workshop.program(f"tests/verdicts/{program}.py"), *arguments, flags=FLAGS)
    assert run.exit_code == 0, run.stderr
    return run


# A run that was disturbed is repeated where its verdict is another one.
def waiting(workshop: Workshop, machine: str, *arguments: str) -> tuple[Run, str]:
    """A run of short_waits.py and its screen, whose verdict is `waiting`."""
    for _ in range(RUNS_MAX if machine == "quiet" else 1):
        run = recorded(workshop, machine, "short_waits", *arguments)
        screen = run.report()
        if screen.splitlines()[2].startswith("waiting: ") or not was_disturbed(run):
            break
    assert screen.splitlines()[2].startswith("waiting: "), (screen, run.profile().facts())
    return run, screen


@pytest.mark.parametrize("name", WAITS)
def test_short_waits_are_waits(workshop: Workshop, machine: str, name: str) -> None:
    needed(machine, name)
    times, says = WAITS[name]
    if workshop.interpreter.lists_lock_waits:
        says = says.replace("a lock (futex)", "a threading.Lock (futex)")
    _, screen = waiting(workshop, machine, name, times)
    assert says in screen, screen
    # After each wait the kernel gave the thread a CPU. Of a single wait that was seen to begin no number is told, and who takes from a queue
    # need not wait for each thing in it.
    waits = re.search(re.escape(says) + r", (?:\d+ to|at most) ([\d,]+) waits", screen)
    if waits and name not in ("items", "messages"):
        assert int(waits[1].replace(",", "")) >= int(times), screen
    assert waits or f"{says}\n" in screen, screen


def test_a_commit_for_each_row_waits_for_the_disk(workshop: Workshop, machine: str) -> None:
    if not recorded(workshop, machine, "short_waits", "commits", "300").answer():
        pytest.skip("no sqlite3, or a file system that does not wait for a disk")
    run, screen = waiting(workshop, machine, "commits", "300")
    # In which of its calls the disk lets SQLite wait is the disk's affair: mostly fdatasync or fsync, ftruncate for some journals. The stacks say so, too.
    said = re.search(r"commits   rows\.commit\(\)   (?:writing to disk \((\w+)|in (\w+)\(2\) on a file)", screen)
    assert said, screen
    call = said[1] or said[2]
    # From 2.41 on glibc makes such calls in functions of its own, which have no name in a stripped libc.
    below = {name for row in run.profile().rows() if "commits" in row.names() for name in row.names()[row.names().index("commits") :]}
    assert any(name.startswith(call) for name in below), (call, below)


@pytest.mark.parametrize("name", WORK)
def test_work_is_never_a_wait(workshop: Workshop, machine: str, name: str) -> None:
    needed(machine, name)
    for _ in range(RUNS_MAX if machine == "quiet" else 1):
        run = recorded(workshop, machine, "never_waiting", name, WORK[name])
        if is_work(run) or not was_disturbed(run):
            break
    assert_work(run)


def is_work(run: Run) -> bool:
    return run.report_json()["verdict"]["name"] not in ("waiting", "too short to judge")


def assert_work(run: Run) -> None:
    assert is_work(run), run.report()


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
def work():
    looked = Looked()
    during(100)
    # A verdict takes 50 samples at least.
    while not looked.often(100): during(10)

answers(300)
genba.start("app.genba", interval_ns=1_000_000)
work()
genba.pause()
answers(300)
genba.resume()
work()
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
