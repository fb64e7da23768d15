"""A process that somebody stops for a while (SIGSTOP): that time is its own reason, and nobody's lateness."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from recording import Workshop


STOP_NS = 1_500_000_000
# The calls in which genba's thread sleeps until the next tick (futex), and in which it rests (rt_sigtimedwait).
ASLEEP, RESTING = "202 ", "128 "
TICK_NS_MAX = 1_500_000
# A program that has been idle is let alone for such a part of that time.
IDLE_PARTS = 8
# Says who it is and when it began to be idle, and goes on when it is told to.
TEXT = """
import json, os, sys, threading, time
def work():
    until = time.thread_time() + 0.2
    while time.thread_time() < until: sum(range(100))
work()
others = [threading.Thread(target=over.wait) for over in [threading.Event()] * 3]
def busy():
    while not told: sum(range(100))
told = []
worker = threading.Thread(target=busy)
if sys.argv[1] == "busy": worker.start()
print(json.dumps([os.getpid(), time.monotonic_ns()]), flush=True)
input()
told.append(1)
if sys.argv[1] == "busy": worker.join()
work()
"""


def states(pid: int) -> list[str]:
    stats = [(task / "stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    return [stat[stat.rindex(")") + 2] for stat in stats]


def stop_asleep(pid: int, call: str) -> None:
    """Stops the process while genba's thread sleeps: of a stop in the middle of a tick nothing is promised."""
    [sampler] = [task for task in Path(f"/proc/{pid}/task").iterdir() if (task / "comm").read_text() == "genba\n"]
    while True:
        while not (sampler / "syscall").read_text().startswith(call):
            pass
        os.kill(pid, signal.SIGSTOP)
        while not set(states(pid)) <= {"T", "t"}:
            pass
        if (sampler / "syscall").read_text().startswith(call):
            return
        os.kill(pid, signal.SIGCONT)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", ["busy", "asleep", "resting"])
def test_a_stop_is_no_lateness(workshop: Workshop, way: str) -> None:
    target = [workshop.interpreter.path, workshop.write("stopped.py", TEXT), way]
    flags = ["-o", f"{workshop.place.inside}/recording-0.genba", *(() if way == "resting" else ("--rate", "1000"))]
    process = workshop.start(target, flags, {}, stdin=-1)
    pid, idle_since_ns = json.loads(process.stdout.readline())
    stop_asleep(pid, RESTING if way == "resting" else ASLEEP)
    began_ns = time.monotonic_ns()
    while time.monotonic_ns() < began_ns + STOP_NS:
        time.sleep(0.01)
    ended_ns = time.monotonic_ns()
    os.kill(pid, signal.SIGCONT)
    process.stdin.write("go on\n")
    process.stdin.flush()
    run = workshop.finish(process, "recording-0.genba")
    assert run.exit_code == 0, run.stderr
    profile = run.profile()
    halts = [mark["value"] for mark in profile["marks"] if mark["kind"] == "halt"]
    # From the moment at which the next tick was due: one and a half intervals after the one before at the latest, or a rest after it.
    due_ns_max = max(TICK_NS_MAX, (began_ns - idle_since_ns) // IDLE_PARTS) if way == "resting" else TICK_NS_MAX
    assert max(halts, default=0) >= ended_ns - began_ns - due_ns_max, (halts, began_ns - idle_since_ns, profile.facts())
    # A tick a millisecond, and not one for each thread.
    stopped = profile["accounting"]["dropped"]["stopped"]
    assert stopped == sum(halt_ns // 1_000_000 for halt_ns in halts), (stopped, halts)
    [row] = [row for row in profile["processes"] if row["pid"] == pid]
    for index, thread in enumerate(profile["threads"]):
        wall_ns = profile.sum("wall_ns", lambda row, index=index: row.thread == index)
        assert wall_ns <= row["wall_ns"] - (ended_ns - began_ns), (thread, wall_ns, row)
    assert f"the process was stopped for {sum(halts) / 1e9:.2f} s (" in run.stderr, (run.stderr, halts)
    assert "`stopped`" not in run.stderr, run.stderr
