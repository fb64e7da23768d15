"""Threads that are shorter than a tick: their CPU time is known when they end, and goes to stacks of their kind."""

import pytest

from bounds import assert_share, effective_samples
from recording import Workshop

pytestmark = pytest.mark.measures

# FORMAT.md: the row of those that no tick met.
NO_SINGLE_THREAD = 2**32 - 1

# What a thread uses behind its last note: the kernel takes its stack down.
COVERED_MIN = 0.95


# Two kinds that no machine tells apart: where other programs are busy, too, the sampler gets a CPU mostly where a thread ends (docs/limits.md), and threads
# much shorter than their neighbours are told with too little.
@pytest.mark.parametrize(
    "arguments", [("300", "2500", "2500"), ("800", "600", "600")], ids=["longer than a tick", "shorter than a tick"],
)
def test_what_they_used_is_told_with_their_stacks(workshop: Workshop, arguments: tuple[str, ...]) -> None:
    run = workshop.run(workshop.program("tests/programs/short_threads.py"), *arguments)
    answer, profile = run.answer(), run.profile()
    # Each stack has one of the two functions.
    told = {name: [row for row in profile.rows() if name in row.names()] for name in ("long_work", "short_work")}
    told_ns = {name: sum(row.cpu_ns for row in rows) for name, rows in told.items()}
    of_threads_ns = answer["long_work"] + answer["short_work"]
    (process,) = profile["processes"]
    own_ns = process["cpu_ns"] - process["cpu_genba_ns"]
    assert process["cpu_not_sampled_ns"] <= (1 - COVERED_MIN) * own_ns, (process, answer)
    squares = sum(row.cpu_us2 for rows in told.values() for row in rows)
    samples = int(effective_samples(sum(told_ns.values()) / 1e3, squares))
    assert_share("short_work", told_ns["short_work"] / sum(told_ns.values()), answer["short_work"] / of_threads_ns, samples)


# Each is seen while it sleeps, and gone when it is looked at again.
SLEEPERS = """
import json, threading, time
used_ns = []
def sleeps():
    time.sleep(0.05)
    used_ns.append(time.thread_time_ns())
for _ in range(10):
    threads = [threading.Thread(target=sleeps) for _ in range(40)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(json.dumps({"whole_ns": time.process_time_ns()}))
"""


def test_what_is_known_of_a_thread_is_told_once(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("sleepers.py", SLEEPERS))
    profile = run.profile()
    clocks = profile["processes"][0]
    assert clocks["cpu_sampled_ns"] + clocks["cpu_not_sampled_ns"] + clocks["cpu_genba_ns"] == clocks["cpu_ns"]
    short_ns = sum(thread["cpu_ns"] for thread in profile["threads"] if thread["tid"] == NO_SINGLE_THREAD)
    # Nobody is so short here that no tick met it: at most a few at the edges.
    assert short_ns <= clocks["cpu_ns"] / 20, (short_ns, clocks)
    # With the threads' own clocks: no thread has more than it used.
    for thread in profile["threads"]:
        assert thread["cpu_not_sampled_ns"] <= thread["cpu_ns"], thread


def test_a_row_of_their_own_holds_those_that_no_tick_met(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("tests/programs/short_threads.py"), "400", "300", "200")
    profile = run.profile()
    (short,) = [index for index, thread in enumerate(profile["threads"]) if thread["tid"] == NO_SINGLE_THREAD]
    thread = profile["threads"][short]
    assert thread["name"] == "short threads"
    assert thread["cpu_ns"] - thread["cpu_not_sampled_ns"] == profile.sum("cpu_ns", lambda row: row.thread == short)
    assert profile.sum("wall_ns", lambda row: row.thread == short) == 0
    # It is no thread: nobody counts it as one.
    (process,) = profile["processes"]
    assert process["threads"] == len(profile["threads"]) - 1
