"""Children that their parent kills: it lets them write first, so that nothing of the CPU that they had used by then is missing (I-02).

The judge is the child: it tells its own clock until it is killed. Without that last block up to 250 ms were missing, 125 in the middle.
"""

import pytest

from other_users import READER, root_alone
from recording import Workshop
from stalls import Stalls
from test_not_recorded import ROUNDED_NS, assert_said, recorded_with_kills

CHILDREN = 9


# How many write within 5 ms depends on who else wants a CPU.
@pytest.mark.measures
# What root's genba hands to a child of another user is the run's table, too, in which its parent rings for it.
@pytest.mark.parametrize(
    "way, before",
    [
        *(pytest.param(way, [], id=way) for way in ("process", "failed_exec", "popen", "group")),
        pytest.param("popen", READER, id="another_user", marks=root_alone),
    ],
)
def test_a_killed_child_has_written_what_it_did(workshop: Workshop, stalls: Stalls, way: str, before: list[str]) -> None:
    record = lambda: workshop.run(workshop.program("tests/programs/killed_children.py"), way, str(CHILDREN), *before)
    run = recorded_with_kills(stalls, record, lambda run: {int(pid): before_ns for pid, (before_ns, _) in run.answer().items()})
    profile = run.profile()
    clocks = {int(pid): told for pid, told in run.answer().items()}
    assert len(clocks) == CHILDREN
    for pid, (_, last_ns) in clocks.items():
        child = profile["processes"][profile.process_of(pid)]
        assert child["ended"] is None, child
        assert child["cpu_ns"] + child["cpu_not_recorded_ns"] >= last_ns - ROUNDED_NS, child
    assert_said(run, profile)


TRACER = """
import ctypes, json, os, signal, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.wait4.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_void_p]
TRACEME, CONT, SETOPTIONS, TRACECLONE, WALL = 0, 7, 0x4200, 8, 0x40000000
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(100))
child = os.fork()
if child == 0:
    libc.ptrace(TRACEME, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    threads = [threading.Thread(target=work, args=[0.1]) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    os.kill(os.getpid(), signal.SIGKILL)
os.waitid(os.P_PID, child, os.WSTOPPED | os.WNOWAIT)
libc.ptrace(SETOPTIONS, child, None, TRACECLONE)
status, usage, ended = ctypes.c_int(), (ctypes.c_long * 18)(), {}
while child not in ended:
    one = libc.wait4(-1, ctypes.byref(status), WALL, usage)
    if os.WIFSTOPPED(status.value):
        number = os.WSTOPSIG(status.value)
        libc.ptrace(CONT, one, None, 0 if number in (signal.SIGTRAP, signal.SIGSTOP) else number)
    else:
        ended[one] = sum(usage[n] * s for n, s in enumerate((10**9, 1000, 10**9, 1000)))
print(json.dumps({"child": child, "cpu_ns": ended[child], "threads": len(ended) - 1}))
"""


def test_threads_that_are_traced_are_not_children(workshop: Workshop) -> None:
    """`wait4(…, __WALL)` tells a tracer of the end of each thread, too, with CPU of its own. The child that was killed has the kernel's number."""
    run = workshop.run(workshop.write("tracer.py", TRACER))
    told, profile = run.answer(), run.profile()
    assert told["threads"] == 4 and len(profile["processes"]) == 2
    child = profile["processes"][profile.process_of(told["child"])]
    assert child["cpu_ns"] + child["cpu_not_recorded_ns"] == told["cpu_ns"]
