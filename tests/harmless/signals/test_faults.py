"""Faults and the program's handlers for them: genba's own stands in front, and what comes through is as without it."""

from pathlib import Path

import pytest

from both_ways import built, same_both_ways
from recording import Workshop


FAST = ("--rate", "5000")
PROGRAM = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.run(sys.argv[2].encode())
print("lives")
"""
CASES = [
    "info", "plain", "nodefer", "deferred", "once", "once sent", "alternate", "not alternate", "small alternate", "jump", "blocked",
    "ignored", "ignored over exec", "sent", "sent at any moment", "sent to others", "sent to nobody", "restart", "restart not", "frames", "default",
    "default sent", "beyond the end", "raw", "raw chained", "many", "forked", "vforked",
]
# These run to their end; the others die by their fault, as they do without genba.
LIVE = {
    "info", "plain", "nodefer", "alternate", "not alternate", "small alternate", "jump", "sent",
    "sent at any moment", "sent to others",
    "sent to nobody", "restart", "restart not", "frames", "raw", "raw chained", "many", "forked", "vforked",
}


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("faults", tmp_path_factory)


@pytest.mark.parametrize("case", CASES)
def test_a_handler_meets_what_it_meets_alone(workshop: Workshop, faults: Path, case: str) -> None:
    run = same_both_ways(workshop, workshop.write("faulting.py", PROGRAM), workshop.take(faults), case, flags=FAST)
    assert (run.exit_code == 0) == (case in LIVE), (run.stdout, run.stderr)


UNDER_FAULTHANDLER = """
import faulthandler, signal, time
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(100))
faulthandler.enable()
work(0.3)
faulthandler.disable()
signal.signal(signal.SIGSEGV, signal.SIG_IGN)
work(0.1)
"""


def test_reads_stay_guarded_under_faulthandler(workshop: Workshop) -> None:
    """By the kernel a look would cost twenty times as much; that is left to programs that ignore their faults."""
    run = workshop.run(workshop.write("enabled.py", UNDER_FAULTHANDLER))
    assert run.exit_code == 0, run.stderr
    texts = [mark["text"] or "" for mark in run.profile()["marks"]]
    by_kernel = [text for text in texts if "process_vm_readv" in text]
    assert len(by_kernel) == 1, texts


NO_TIME_STAMPS = """
import ctypes, gc, signal, sys, time
PR_SET_TSC, ALLOWED, FAULTS, SYS_rt_sigaction, SA_RESTORER = 26, 1, 2, 13, 0x04000000
libc = ctypes.CDLL(None)
gc.disable()
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(1000))
if sys.argv[1] == "blocked":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSEGV])
if sys.argv[1] == "own handler":
    # Past libc, so that nobody stands in front: each fault ends the process with the signal's number.
    handler = ctypes.cast(libc._exit, ctypes.c_void_p).value
    libc.syscall(SYS_rt_sigaction, int(signal.SIGSEGV), (ctypes.c_uint64 * 4)(handler, SA_RESTORER, handler, 0), None, 8)
work(0.1)
libc.prctl(PR_SET_TSC, FAULTS, 0, 0, 0)
work(0.3)
libc.prctl(PR_SET_TSC, ALLOWED, 0, 0, 0)
print("done")
"""


@pytest.mark.parametrize("way", ["guarded", "blocked", "own handler"])
def test_a_thread_that_may_not_read_time_stamps(workshop: Workshop, way: str) -> None:
    """PR_SET_TSC makes each reading a fault: genba's own is nobody else's, and where a fault would not come to genba, none is made."""
    run = same_both_ways(workshop, workshop.write("no_time_stamps.py", NO_TIME_STAMPS), way, flags=FAST)
    assert run.stdout == "done\n"
    by_kernel = [mark for mark in run.profile()["marks"] if "process_vm_readv" in (mark["text"] or "")]
    assert run.profile().sum("samples", lambda row: "work" in row.names()) > 0
    assert bool(by_kernel) == (way == "own handler"), by_kernel


# What the kernel sends of memory that is broken before anybody has used it: no instruction made it, and none makes it again.
BROKEN_MEMORY = """
import ctypes, os, signal, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
if sys.argv[1] == "handled":
    signal.signal(signal.SIGBUS, lambda number, frame: print("handled", number, flush=True))
BUS_MCEERR_AO, RT_TGSIGQUEUEINFO = 5, 297
record = (ctypes.c_int32 * 32)(signal.SIGBUS, 0, BUS_MCEERR_AO)
print(libc.syscall(RT_TGSIGQUEUEINFO, os.getpid(), threading.get_native_id(), int(signal.SIGBUS), record), flush=True)
sum(range(100_000))
print("lives")
"""


@pytest.mark.parametrize("how", ["default", "handled"])
def test_memory_that_is_broken(workshop: Workshop, how: str) -> None:
    # It may be ended while a block is written.
    workshop.may_be_unfinished = how == "default"
    run = same_both_ways(workshop, workshop.write("broken.py", BROKEN_MEMORY), how)
    assert run.exit_code == (0 if how == "handled" else 128 + 7), run.stdout
