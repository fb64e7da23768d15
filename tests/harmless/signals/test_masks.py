"""The program's own masks: threads that block SIGURG are sampled all the same, and nothing it is told, gets or hands on is different."""

from pathlib import Path

import pytest

from both_ways import same_both_ways
from recording import Workshop


FAST = ("--rate", "10000")
LOAD = "import ctypes, sys\nlibrary = ctypes.CDLL(sys.argv[1])\n"


@pytest.mark.parametrize("calls", ["views()", "handlers()", "heirs(1)", "heirs(0)", "waited_for()", "taken()", "read_from_descriptor()"])
def test_the_program_sees_its_own_masks(workshop: Workshop, masks: Path, calls: str) -> None:
    """In every way that libc has, in threads, forks, new programs, handlers; with SIGURG of its own handled, waited for, read."""
    run = same_both_ways(workshop, workshop.write("masks.py", f"{LOAD}library.{calls}\n"), workshop.take(masks), flags=FAST)
    assert run.stdout.count("\n") > 1


def test_both_lives_of_a_signal(workshop: Workshop, masks: Path) -> None:
    """The program takes SIGURG, gives it back and takes it again, threads blocking it all the while: then it is genba's again."""
    text = LOAD + "for _ in range(2):\n    library.waited_for()\n    library.read_from_descriptor()\n"
    same_both_ways(workshop, workshop.write("lives.py", text), workshop.take(masks), flags=FAST)


PYTHON_S = """
import os, signal, subprocess, sys, threading, time, warnings
warnings.simplefilter("ignore")  # of a fork beside threads, which names the process
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(100))
def told(name):
    print(name, sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))), sorted(map(int, signal.sigpending() - {signal.SIGCHLD})), flush=True)
def blocking():
    told("thread")
    for how in (signal.SIG_BLOCK, signal.SIG_SETMASK, signal.SIG_UNBLOCK):
        for numbers in (signal.valid_signals(), [signal.SIGURG], [signal.SIGUSR1], []):
            print(sorted(map(int, signal.pthread_sigmask(how, numbers))))
            work(0.002)
            told("now")
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    inner = threading.Thread(target=told, args=["inherits"])
    inner.start()
    inner.join()
    children()
def children():
    command = ["grep", "-E", "SigBlk|SigPnd|ShdPnd", "/proc/self/status"]
    for close_fds in (True, False):
        print(subprocess.run(command, capture_output=True, text=True, close_fds=close_fds).stdout)
        work(0.002)
        told("after a child")
    sys.stdout.flush()
    os.waitpid(os.posix_spawnp("grep", command, os.environ), 0)
    pid = os.fork()
    if pid == 0:
        told("forked")
        os.execvp("grep", command)
    os.waitpid(pid, 0)
thread = threading.Thread(target=blocking)
thread.start()
thread.join()
told("main")
children()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
os.execv(sys.executable, [sys.executable, "-c", "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"])
"""


def test_python_s_own_masks(workshop: Workshop) -> None:
    same_both_ways(workshop, workshop.write("own.py", PYTHON_S), flags=FAST)
