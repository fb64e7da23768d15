"""Threads that are shorter than a tick: their CPU time is known when they end, and goes to stacks of their kind."""

import pytest

from bounds import assert_share, effective_samples, is_share
from disturbed import RUNS_MAX, undisturbed
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from profile_tables import Profile, Row
from recording import Run, Workshop
from soak import SOAK

pytestmark = pytest.mark.measures

# FORMAT.md: the row of those that no tick met.
NO_SINGLE_THREAD = 2**32 - 1

# What a thread uses behind its last note: the kernel takes its stack down.
COVERED_MIN = 0.95
LONGER_THAN_A_TICK, SHORTER_THAN_A_TICK = ("300", "2500", "2500"), ("800", "600", "600")


@pytest.mark.parametrize("arguments", [LONGER_THAN_A_TICK, SHORTER_THAN_A_TICK], ids=["longer than a tick", "shorter than a tick"])
def test_what_they_used_is_told(workshop: Workshop, arguments: tuple[str, ...]) -> None:
    run = workshop.run(workshop.program("tests/programs/short_threads.py"), *arguments)
    answer, profile = run.answer(), run.profile()
    (process,) = profile["processes"]
    assert process["cpu_not_sampled_ns"] <= (1 - COVERED_MIN) * (process["cpu_ns"] - process["cpu_genba_ns"]), (process, answer)


# Two kinds that no machine tells apart: neither is rare, or shorter than the other.
@pytest.mark.parametrize("arguments", [LONGER_THAN_A_TICK, SHORTER_THAN_A_TICK], ids=["longer than a tick", "shorter than a tick"])
def test_their_stacks_have_their_shares(workshop: Workshop, arguments: tuple[str, ...]) -> None:
    program = workshop.program("tests/programs/short_threads.py")
    run = undisturbed(lambda: workshop.run(program, *arguments), lambda run: is_share(*share_of_short(run)))
    assert_share("short_work", *share_of_short(run))
    # Most of it is told where they work, not where they begin or end.
    answer = run.answer()
    assert sum(row.cpu_ns for row in of_work(run)) > (answer["long_work"] + answer["short_work"]) / 2, answer


def test_one_that_is_met_is_sampled(workshop: Workshop) -> None:
    """Also where it ran on the CPU that genba's own thread has just taken: its clock stands still then, as that of a thread that waits does."""
    run = workshop.run(workshop.program("tests/programs/short_threads.py"), *SHORTER_THAN_A_TICK)
    (process,) = run.profile()["processes"]
    accounting = process["accounting"]
    # One in ten where it was taken for one that waits, and had ended by the next tick.
    assert accounting["refused"].get("thread ended", 0) <= accounting["ticks"] / 25, accounting


def of_work(run: Run) -> list[Row]:
    """Those in one of the two functions. The others are of beginnings and ends."""
    return [row for row in run.profile().rows() if {"long_work", "short_work"} & set(row.names())]


def share_of_short(run: Run) -> tuple[float, float, int]:
    """As told, as measured, and of how many samples."""
    answer, rows = run.answer(), of_work(run)
    told_ns = sum(row.cpu_ns for row in rows)
    short_ns = sum(row.cpu_ns for row in rows if "short_work" in row.names())
    samples = effective_samples(told_ns / 1e3, sum(row.cpu_us2 for row in rows))
    return short_ns / told_ns, answer["short_work"] / (answer["long_work"] + answer["short_work"]), int(samples)


# Each is seen while it sleeps, and gone when it is looked at again: many end in the middle of a tick.
SLEEPERS = """
import threading, time
for _ in range(10):
    threads = [threading.Thread(target=time.sleep, args=[0.05]) for _ in range(40)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
SLEEPING = 400


def test_what_is_known_of_a_thread_is_told_once(workshop: Workshop) -> None:
    program = workshop.write("sleepers.py", SLEEPERS)
    for _ in range(RUNS_MAX):
        threads = workshop.run(program).profile()["threads"]
        if sum(thread["tid"] != NO_SINGLE_THREAD for thread in threads) == SLEEPING + 1:
            break
    else:
        pytest.skip(f"some threads were met by no tick in 50 ms, in each of {RUNS_MAX} recordings: the machine is busy with other things")
    # All have rows of their own: nothing is left for those that no tick met.
    assert all(thread["tid"] != NO_SINGLE_THREAD for thread in threads), threads[-1]


def one_row_adds_up(profile: Profile) -> None:
    (short,) = [index for index, thread in enumerate(profile["threads"]) if thread["tid"] == NO_SINGLE_THREAD]
    thread = profile["threads"][short]
    assert thread["name"] == "short threads"
    assert thread["cpu_ns"] - thread["cpu_not_sampled_ns"] == profile.sum("cpu_ns", lambda row: row.thread == short)
    assert profile.sum("wall_ns", lambda row: row.thread == short) == 0


def test_a_row_of_their_own_holds_those_that_no_tick_met(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("tests/programs/short_threads.py"), "400", "300", "200")
    profile = run.profile()
    one_row_adds_up(profile)
    # It is no thread: nobody counts it as one.
    (process,) = profile["processes"]
    assert process["threads"] == len(profile["threads"]) - 1


PAUSES = """
import genba, threading, time
def work():
    end_ns = time.thread_time_ns() + 300_000
    while time.thread_time_ns() < end_ns:
        sum(range(50))
def chain(threads):
    began_ns = time.process_time_ns()
    for _ in range(threads):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    return time.process_time_ns() - began_ns
chain(400)
genba.pause()
paused_ns = chain(400)
genba.resume()
chain(400)
print(paused_ns)
"""


def test_a_pause_is_in_no_sample_and_the_row_goes_on(inside: Inside) -> None:
    workshop = inside.workshop
    run = workshop.run(workshop.write("pauses.py", PAUSES), environment=inside.environment)
    profile, paused_ns = run.profile(), run.answer()
    one_row_adds_up(profile)
    (process,) = profile["processes"]
    assert process["cpu_sampled_ns"] <= process["cpu_ns"] - process["cpu_genba_ns"] - paused_ns, (process, paused_ns)


@pytest.mark.skipif(not SOAK, reason="make soak: beside other tests ticks come where threads end, and nothing can be said of short ones beside long ones")
def test_those_that_begin_where_another_ended_are_seen(workshop: Workshop) -> None:
    """A tick that finds a long thread gone meets the short one in its place, or nobody does: by the next tick it has ended, too."""
    run = workshop.run(workshop.program("tests/programs/short_threads.py"), "300", "3000", "400", flags=("--rate", "1000"))
    answer, profile = run.answer(), run.profile()
    told_ns = {name: profile.sum("cpu_ns", lambda row, name=name: name in row.names()) for name in ("long_work", "short_work")}
    true = answer["short_work"] / (answer["short_work"] + answer["long_work"])
    # Without it they have a tenth of what they used, or less.
    assert told_ns["short_work"] / sum(told_ns.values()) >= true / 2, (told_ns, answer, profile.facts())
