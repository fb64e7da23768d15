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
    "ignored", "ignored over exec", "sent", "restart", "restart not", "frames", "default", "default sent", "beyond the end", "raw",
    "raw chained", "many", "forked", "vforked",
]
# These run to their end; the others die by their fault, as they do without genba.
LIVE = {
    "info", "plain", "nodefer", "alternate", "not alternate", "small alternate", "jump", "sent", "restart",
    "restart not", "frames", "raw", "raw chained", "many", "forked", "vforked",
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
