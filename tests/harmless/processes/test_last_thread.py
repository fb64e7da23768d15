"""Processes that end because their last thread ends: genba's own thread does not keep them alive."""

import pytest

from recording import Workshop

FORKED = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
status = []
def fork():
    child = os.fork()
    if child == 0:
        sum(range(100_000))
        return  # the process ends with this thread: it has no other
    status.append(os.waitpid(child, 0)[1])
thread = threading.Thread(target=fork)
thread.start()
thread.join()
print(status)
"""

LEFT = """
import ctypes, sys, threading, time
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(1000))
    print(int(seconds * 10), flush=True)
for number in range(int(sys.argv[1])):
    threading.Thread(target=work, args=[(number + 1) / 10]).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_child_of_a_thread_ends_with_that_thread(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("forked.py", FORKED))
    assert run.answer() == [0], run.stderr
    assert [process["ended"] for process in run.profile()["processes"]] == ["exit", "exit"]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_main_leaves_by_pthread_exit(workshop: Workshop, threads: int) -> None:
    run = workshop.run(workshop.write("left.py", LEFT), str(threads))
    assert run.exit_code == 0, run.stderr
    assert sorted(run.stdout.split()) == [str(number + 1) for number in range(threads)]
    assert ("its first thread has ended" in run.stderr) == (threads > 0), run.stderr
