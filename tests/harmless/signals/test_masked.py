"""Threads that block all signals, as those of ZeroMQ and librdkafka do, are sampled; where a raw system call did it, they are named with the CPU that
is in no sample of theirs."""

from pathlib import Path

import pytest

from recording import Run, Workshop


BLOCKING = """
import ctypes, signal, sys, threading, time
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(1000))
def blocking():
    if sys.argv[1] == "libc":
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    else:
        SYS_rt_sigprocmask, SIG_BLOCK = 14, 0
        ctypes.CDLL(None).syscall(SYS_rt_sigprocmask, SIG_BLOCK, ctypes.byref(ctypes.c_uint64(2**31 - 1)), None, 8)
    work(0.5)
thread = threading.Thread(target=blocking)
thread.start()
thread.join()
print(thread.native_id)
"""


@pytest.mark.parametrize("flags", [(), ("--rate", "200")], ids=["1 kHz", "200 Hz"])
def test_a_thread_that_blocks_all_signals_behind_genba_s_back_is_named(workshop: Workshop, flags: tuple[str, ...]) -> None:
    run = workshop.run(workshop.write("blocking.py", BLOCKING), "raw", flags=flags)
    assert run.exit_code == 0, run.stderr
    tid = int(run.stdout)
    profile = run.profile()
    assert [mark["value"] for mark in profile["marks"] if mark["kind"] == "masked"] == [tid]
    thread = next(thread for thread in profile["threads"] if thread["tid"] == tid)
    # It is asked until it first blocks signals, and no later.
    assert thread["cpu_not_sampled_ns"] > 450_000_000
    for words in (profile["warnings"], run.report().splitlines()):
        assert sum(f"thread {tid} (" in line and "blocks signals" in line for line in words) == 1, words


@pytest.mark.parametrize("flags", [(), ("--rate", "200")], ids=["1 kHz", "200 Hz"])
def test_a_thread_that_blocks_all_signals_is_sampled(workshop: Workshop, flags: tuple[str, ...]) -> None:
    run = workshop.run(workshop.write("blocking.py", BLOCKING), "libc", flags=flags)
    assert run.exit_code == 0, run.stderr
    is_covered(run, int(run.stdout))


def test_a_thread_of_c_that_blocks_all_signals_is_sampled(workshop: Workshop, masks: Path) -> None:
    text = "import ctypes, sys\nctypes.CDLL(sys.argv[1]).spin_blocked()\n"
    run = workshop.run(workshop.write("in_c.py", text), workshop.take(masks))
    assert run.exit_code == 0, run.stderr
    profile = run.profile()
    is_covered(run, max(profile["threads"], key=lambda thread: thread["cpu_ns"])["tid"])


def test_a_program_that_begins_with_all_signals_blocked_is_sampled(workshop: Workshop) -> None:
    """What it inherits from the program before it."""
    text = "import os, signal, sys\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nos.execv(sys.argv[1], sys.argv[1:])\n"
    work = (
        "import os, signal, time\nprint(os.getpid(), flush=True)\nassert signal.SIGURG in signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
        "while time.process_time() < 0.5: sum(range(1000))\n"
    )
    python = workshop.interpreter.path
    run = workshop.run(workshop.write("blocks.py", text), python, workshop.write("work.py", work))
    assert run.exit_code == 0, run.stderr
    is_covered(run, int(run.stdout))


def is_covered(run: Run, tid: int) -> None:
    profile = run.profile()
    assert not [mark for mark in profile["marks"] if mark["kind"] == "masked"]
    thread = max((thread for thread in profile["threads"] if thread["tid"] == tid), key=lambda thread: thread["cpu_ns"])
    # Of 300 ms or more; of a thread that cannot be asked it is some 10. What passes after the last look at a thread is not its own.
    assert thread["cpu_ns"] - thread["cpu_not_sampled_ns"] > 150_000_000
