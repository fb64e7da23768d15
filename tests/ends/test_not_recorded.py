"""What a process used after its last block: the kernel tells whoever waits for its end, and the recording says how much is missing.

The judge is the process itself: it prints its own clock just before it is killed.
"""

import json
import os
import signal
import time
from collections.abc import Callable

import pytest

from profile_tables import Profile
from recording import Run, Workshop, genba_said
from stalls import Stalls, undisturbed

# The kernel tells what a child used in microseconds, rounded down, of its two parts each.
ROUNDED_NS = 2_000
# For so long a parent waits for a child's last block before it kills it.
WAITS_NS_MAX = 5_000_000

KILLED = """
import json, os, sys, time
child = os.fork()
if child == 0:
    while True:
        sum(range(1000))
        os.write(1, f"{os.getpid()} {time.process_time_ns()}\\n".encode())
waits = {
    "wait": os.wait,
    "wait3": lambda: os.wait3(0),
    "wait4": lambda: os.wait4(child, 0),
    "waitpid": lambda: os.waitpid(child, 0),
    "waitid": lambda: os.waitid(os.P_PID, child, os.WEXITED),
}
waited = waits[sys.argv[1]]()
microseconds = [round(seconds * 1e6) for seconds in waited[2][:2]] if len(waited) == 3 else []
print(json.dumps(sum(microseconds) * 1000))
"""


@pytest.mark.parametrize("wait", ["wait", "wait3", "wait4", "waitpid", "waitid"])
def test_a_child_that_is_killed_from_elsewhere(workshop: Workshop, wait: str) -> None:
    target = [workshop.interpreter.path, workshop.write("killed.py", KILLED), wait]
    process = workshop.start(target, ["-o", f"{workshop.place.inside}/killed.genba"], {})
    for _ in range(20_000):
        pid, clock_ns = map(int, process.stdout.readline().split())
        if clock_ns > 150_000_000:
            break
    os.kill(pid, signal.SIGKILL)
    run = workshop.finish(process, "killed.genba")
    for line in run.stdout.splitlines()[:-1]:
        clock_ns = int(line.split()[1])
    profile = run.profile()
    child = profile["processes"][profile.process_of(pid)]
    used_ns = child["cpu_ns"] + child["cpu_not_recorded_ns"]
    assert used_ns >= clock_ns - ROUNDED_NS, child
    if told_ns := run.answer():
        assert used_ns == max(told_ns, child["cpu_ns"]), child
    assert_said(run, profile)


FIRST = """
import os, time
while True:
    sum(range(1000))
    os.write(1, f"{os.getpid()} {time.process_time_ns()}\\n".encode())
"""
# What the end of any process may cost is not told of the first one.
END_NS_MAX = 60_000_000


def test_the_first_process_is_killed_from_elsewhere(workshop: Workshop) -> None:
    target = [workshop.interpreter.path, workshop.write("first.py", FIRST)]
    process = workshop.start(target, ["-o", f"{workshop.place.inside}/first.genba"], {})
    for _ in range(20_000):
        pid, clock_ns = map(int, process.stdout.readline().split())
        if clock_ns > 220_000_000:
            break
    os.kill(pid, signal.SIGKILL)
    run = workshop.finish(process, "first.genba")
    for line in run.stdout.splitlines()[:-1]:
        clock_ns = int(line.split()[1])
    profile = run.profile()
    first = profile["processes"][profile.process_of(pid)]
    assert first["cpu_ns"] + first["cpu_not_recorded_ns"] >= clock_ns - END_NS_MAX, first
    assert_said(run, profile)


def recorded_with_kills(stalls: Stalls, record: Callable[[], Run], clocks_of: Callable[[Run], dict[int, int]]) -> Run:
    """A run whose parent lets its children write before it kills them: most had time for that, or this machine kept each run's threads from their CPUs
    for as long as the parent waits, and nothing can be said of who wrote. `clocks_of` are those of the children when it began to kill them."""
    began_ns = 0

    def from_now_on() -> Run:
        nonlocal began_ns
        began_ns = time.monotonic_ns()
        return record()

    run = undisturbed(stalls, WAITS_NS_MAX, from_now_on, lambda run: run.exit_code == 0 and have_most_written(run.profile(), clocks_of(run)))
    assert run.exit_code == 0, run.stderr
    if stalls.worst_ns(began_ns) < WAITS_NS_MAX:
        assert_written_before_the_kill(run.profile(), clocks_of(run))
    return run


def have_most_written(profile: Profile, clocks: dict[int, int]) -> bool:
    whole = [pid for pid, clock_ns in clocks.items() if profile["processes"][profile.process_of(pid)]["cpu_ns"] >= clock_ns]
    return len(whole) * 2 > len(clocks)


def assert_written_before_the_kill(profile: Profile, clocks: dict[int, int]) -> None:
    """`clocks` are those of children when their parent began to kill them. It lets each write first, and waits for that at most 5 ms: of one
    that gets no CPU in that time more is missing; of most nothing is."""
    children = {pid: profile["processes"][profile.process_of(pid)] for pid in clocks}
    assert have_most_written(profile, clocks), [(clocks[pid], child) for pid, child in children.items()]


def assert_said(run: Run, profile: Profile) -> None:
    """The coverage is that of all the program's CPU, and what is missing stands beside it."""
    whole = profile["accounting"]
    missing_ns = sum(process["cpu_not_recorded_ns"] for process in profile["processes"])
    assert whole["cpu_not_recorded_ns"] == missing_ns
    used_ns = whole["cpu_sampled_ns"] + whole["cpu_not_sampled_ns"] + missing_ns
    per_mille = whole["cpu_sampled_ns"] * 1000 // used_ns
    header = run.report().splitlines()[1]
    assert f"CPU covered {per_mille // 10}.{per_mille % 10} %" in header
    assert (" not recorded" in header) == (missing_ns > 0 and missing_ns * 100 >= used_ns), (header, missing_ns, used_ns)
    assert ("  not recorded: " in genba_said("check", run.recording)) == (missing_ns > 0)


# How many write within 5 ms depends on who else wants a CPU.
@pytest.mark.measures
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool_that_is_terminated(workshop: Workshop, stalls: Stalls, method: str) -> None:
    told = lambda run: {int(pid): clock_ns for pid, clock_ns in run.answer().items()}
    run = recorded_with_kills(stalls, lambda: workshop.run(workshop.program("tests/programs/pool.py"), method), told)
    profile, clocks = run.profile(), told(run)
    assert len(clocks) == 6
    for pid, clock_ns in clocks.items():
        worker = profile["processes"][profile.process_of(pid)]
        assert worker["ended"] is None, worker
        assert worker["cpu_ns"] + worker["cpu_not_recorded_ns"] >= clock_ns - ROUNDED_NS, worker
    assert_said(run, profile)


FAMILY = """
import json, os, subprocess, sys, time
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(100))
def ended(child):
    os.waitpid(child, 0)
    return child
def fork(run):
    child = os.fork()
    if child: return ended(child)
    run()
    os._exit(0)
spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
# A child with a grandchild, and with a shell that uses more than it does: neither is the child's own.
def family():
    fork(lambda: work(0.2))
    subprocess.run(["/bin/sh", "-c", spin], check=True)
    work(0.05)
# A child that becomes the shell.
def shell():
    work(0.05)
    os.execv("/bin/sh", ["sh", "-c", spin])
print(json.dumps([fork(family), fork(shell)]))
"""


def test_what_others_used_is_not_missing(workshop: Workshop) -> None:
    """The kernel's figure holds what the child's own children used; that is no part of the child, and a shell is not recorded at all."""
    run = workshop.run(workshop.write("family.py", FAMILY))
    profile = run.profile()
    for pid in run.answer():
        child = profile["processes"][profile.process_of(pid)]
        # Its exit comes after its last block: far less than the least of what others used.
        assert child["cpu_not_recorded_ns"] < 50_000_000, child
