"""Threads that block all signals, as those of ZeroMQ and librdkafka do, are named with the CPU that is in no sample of theirs."""

import pytest

from recording import Workshop

BLOCKING = """
import signal, threading, time
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(1000))
def blocking():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    work(0.5)
thread = threading.Thread(target=blocking)
thread.start()
thread.join()
print(thread.native_id)
"""


@pytest.mark.parametrize("flags", [(), ("--rate", "200")], ids=["1 kHz", "200 Hz"])
def test_a_thread_that_blocks_all_signals_is_named(workshop: Workshop, flags: tuple[str, ...]) -> None:
    run = workshop.run(workshop.write("blocking.py", BLOCKING), flags=flags)
    assert run.exit_code == 0, run.stderr
    tid = int(run.stdout)
    profile = run.profile()
    assert [mark["value"] for mark in profile["marks"] if mark["kind"] == "masked"] == [tid]
    thread = next(thread for thread in profile["threads"] if thread["tid"] == tid)
    # It is asked until it first blocks signals, and no later.
    assert thread["cpu_not_sampled_ns"] > 450_000_000
    for words in (profile["warnings"], run.report().splitlines()):
        assert sum(f"thread {tid} (" in line and "blocks signals" in line for line in words) == 1, words
