"""How often genba looks where no rate is asked for: a first second of CPU at 1 kHz, then what a share of the program's CPU pays for."""

import os
import re
import time
from pathlib import Path

import pytest

from figures import Figure
from profile_tables import RUNNING, Profile
from recording import Run, Workshop
from stalls import Stalls, undisturbed

pytestmark = pytest.mark.measures


# What genba's thread uses is read from the kernel, from a moment on at which the rate has settled. `work` is each thread's.
ALONE = """
import os, sys, threading, time
def of_genba():
    for task in os.listdir("/proc/self/task"):
        if open(f"/proc/self/task/{task}/comm").read() == "genba\\n":
            return int(open(f"/proc/self/task/{task}/schedstat").read().split()[0])
    return 0
def of_program(genba_ns):
    return time.process_time_ns() - genba_ns
def passed(cpu_ns):
    began_ns = of_program(of_genba())
    while of_program(of_genba()) - began_ns < cpu_ns: work(0.1)
    genba_ns = of_genba()
    return genba_ns, of_program(genba_ns)
def measured():
    genba_ns, program_ns = passed(2_000_000_000)
    later_genba_ns, later_program_ns = passed(2_000_000_000)
    print([later_genba_ns - genba_ns, later_program_ns - program_ns, later_genba_ns + later_program_ns])
"""
DEEP = ALONE + """
sys.setrecursionlimit(10_000)
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(1000))
def down(depth): return down(depth - 1) if depth else measured()
down(900)
"""
THREADS = ALONE + """
import hashlib
data, over = bytes(1 << 20), False
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: hashlib.sha256(data).digest()
def one():
    while not over: work(0.1)
threads = [threading.Thread(target=one) for _ in range(8)]
for thread in threads: thread.start()
measured()
over = True
for thread in threads: thread.join()
"""
BUSY = """
import time
def work():
    until = time.thread_time() + 2.5
    while time.thread_time() < until: sum(range(100))
work()
"""
SHORT = """
import os, subprocess, sys, time
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(100))
work(2.5)
if sys.argv[1] == "fork":
    if os.fork() == 0: work(0.15); os._exit(0)
    os.wait()
else:
    subprocess.run([sys.executable, "-c", "while __import__('time').process_time() < 0.15: pass"], check=True)
"""
IDLE = """
import os, time
def work():
    until = time.thread_time() + 0.3
    while time.thread_time() < until: sum(range(100))
work()
print(os.getpid(), flush=True)
input()
for _ in range(3):
    work()
    time.sleep(0.5)
"""
BURSTS = """
import time
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(100))
for _ in range(4):
    time.sleep(1)
    work(0.1)
"""
SLEEPS, BURSTS_NS, SLEPT_NS = 4, 400_000_000, 4_000_000_000
SEEN_MIN = 0.75
FIRST_NS = 1_000_000_000
REST_NS_MAX = BLOCK_NS = 250_000_000
WATCHED_NS = 2_000_000_000


def rates(run: Run) -> list[dict]:
    return [mark for mark in run.profile()["marks"] if mark["kind"] == "rate"]


def header(run: Run) -> str:
    return run.report().splitlines()[0]


@pytest.mark.parametrize(("program", "budget"), [(DEEP, "2 %"), (THREADS, "0.5 %")], ids=["deep", "threads"])
def test_a_program_that_is_dear_to_look_at(workshop: Workshop, figure: Figure, program: str, budget: str) -> None:
    # A look takes more than 5 µs, wherever: more than 0.5 % at 1 kHz. Some 900 frames take more than 20 µs.
    flags = () if budget == "2 %" else ("--budget", budget)
    run = workshop.run(workshop.write("dear.py", program), flags=flags)
    genba_ns, program_ns, cpu_ns = run.answer()
    profile, changes = run.profile(), rates(run)
    [process] = profile["processes"]
    assert changes and all(1_000_000 < change["value"] <= 20_000_000 for change in changes), changes
    share = float(budget.removesuffix(" %")) / 100
    assert process["budget_per_mille"] == round(share * 1000) and process["interval_ns"] == 1_000_000
    # One thread uses a second of CPU in no less time, and two CPUs in half of it.
    assert changes[0]["at_ns"] - process["start_ns"] >= FIRST_NS / os.cpu_count(), changes
    mostly = re.search(rf" · sampled every 1 ms, mostly ([\d.]+) ms \(budget {re.escape(budget)}\)( · |$)", header(run))
    assert mostly, header(run)
    answer = run.report_json()
    assert answer["interval_mostly_ns"] == round(float(mostly[1]) * 1_000_000), answer["interval_mostly_ns"]
    assert (answer["interval_ns"], answer["budget_per_mille"]) == (1_000_000, round(share * 1000))
    # Where 50 Hz is not rare enough nothing more can be done. What changed since a judgement is known at the next one, in blocks of a quarter
    # of a second on all CPUs.
    is_at_end = changes[-1]["value"] == 20_000_000
    figure("genba's thread, of the program's CPU", genba_ns / program_ns, "share", bound=share)
    assert is_at_end or genba_ns <= share * (program_ns + BLOCK_NS * os.cpu_count()), (genba_ns, program_ns, changes)
    # What a sample stands for comes from clocks: the CPU is all there.
    work_ns = profile.sum("cpu_ns", lambda row: row.state in RUNNING)
    assert work_ns >= 0.97 * (cpu_ns - process["cpu_genba_ns"]), (work_ns, cpu_ns, process)


@pytest.mark.parametrize("way", ["fork", "exec"])
def test_the_first_second_is_that_of_the_run(workshop: Workshop, stalls: Stalls, way: str) -> None:
    """A process that is too short for a judgement of its own begins as its run is sampled by then."""

    def changed_ns(run: Run) -> int:
        """How long after the process began. Where nothing has changed that is at no time."""
        changes = [mark["at_ns"] for mark in rates(run) if mark["process"] == 1]
        return changes[0] - run.profile()["processes"][1]["start_ns"] if changes else WATCHED_NS

    # A busy machine keeps genba's thread from its first look for longer than that.
    program = workshop.write("short.py", SHORT)
    once = lambda: workshop.run(program, way, flags=("--budget", "0.1%"))
    run = undisturbed(stalls, REST_NS_MAX // 25, once, lambda done: done.exit_code == 0 and changed_ns(done) < BLOCK_NS)
    assert run.exit_code == 0, run.stderr
    later = run.profile()["processes"][1]
    change, *_ = [mark for mark in rates(run) if mark["process"] == 1]
    assert 1_000_000 < change["value"] <= 5_000_000, change
    # Its own first judgement comes no earlier.
    assert changed_ns(run) < BLOCK_NS, (change, later)
    assert later["accounting"]["sampled"] < 0.8 * later["wall_ns"] / 1_000_000, later


def test_where_the_budget_pays_for_it_the_rate_stays(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("busy.py", BUSY), flags=("--budget", "100%"))
    assert run.exit_code == 0, run.stderr
    assert rates(run) == [] and header(run).endswith(" · sampled every 1 ms"), header(run)
    [process] = run.profile()["processes"]
    assert process["budget_per_mille"] == 1000


def test_a_rate_that_was_asked_for_stays(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("busy.py", BUSY), flags=("--interval", "1ms"))
    assert run.exit_code == 0, run.stderr
    assert rates(run) == [] and header(run).endswith(" · sampled every 1 ms"), header(run)


def woken(pid: int) -> int:
    """How often the sampler's thread went to sleep by itself so far."""
    [task] = [task for task in Path(f"/proc/{pid}/task").iterdir() if (task / "comm").read_text() == "genba\n"]
    [line] = [line for line in (task / "status").read_text().splitlines() if line.startswith("voluntary_ctxt")]
    return int(line.split()[1])


def test_an_idle_program_is_let_alone_and_found_again(workshop: Workshop, figure: Figure) -> None:
    target = [workshop.interpreter.path, workshop.write("idle.py", IDLE)]
    process = workshop.start(target, ["-o", f"{workshop.place.inside}/recording-0.genba"], {}, stdin=-1)
    pid = int(process.stdout.readline())
    # Idle for eight times the longest rest, and a bit more.
    time.sleep(8 * REST_NS_MAX / 1e9 + 0.5)
    before, began_ns = woken(pid), time.monotonic_ns()
    time.sleep(WATCHED_NS / 1e9)
    times, passed_ns = woken(pid) - before, time.monotonic_ns() - began_ns
    figure("wake-ups of an idle process's sampler", times * 1e9 / passed_ns, "a second", bound=1e9 / REST_NS_MAX)
    process.stdin.write("go on\n")
    process.stdin.flush()
    run = workshop.finish(process, "recording-0.genba")
    assert run.exit_code == 0, run.stderr
    assert 0 < times <= passed_ns / REST_NS_MAX + 1, (times, passed_ns)
    profile = run.profile()
    work_ns = profile.sum("cpu_ns", lambda row: row.state in RUNNING and "work" in row.names())
    assert work_ns > 1_150_000_000, profile.facts()
    waited_ns = profile.sum("wall_ns", lambda row: row.state not in RUNNING)
    assert waited_ns > passed_ns, profile.facts()


def seen(profile: Profile) -> tuple[float, float]:
    """The share of the bursts' ticks, and that of their CPU time."""
    in_work = lambda row: row.state in RUNNING and "work" in row.names()
    waited = profile.sum("ticks", lambda row: row.state == "waiting for CPU")
    late = profile["accounting"]["dropped"].get("late", 0)
    return (profile.sum("ticks", in_work) + waited + late) / (BURSTS_NS / 1e6), profile.sum("cpu_ns", in_work) / BURSTS_NS


def is_seen(share: float, share_of_cpu: float) -> bool:
    return share > SEEN_MIN and share_of_cpu > 0.95


def test_a_burst_after_idleness_is_seen_from_its_begin(workshop: Workshop, figure: Figure, stalls: Stalls) -> None:
    """After a second of idleness a rest lasts for an eighth of one, longer than a burst: genba's thread is woken by the program's CPU clock, at
    the kernel's next tick, 10 ms later at the latest."""
    program = workshop.write("bursts.py", BURSTS)
    profile = undisturbed(stalls, REST_NS_MAX // 25, lambda: workshop.run(program), lambda run: is_seen(*seen(run.profile()))).profile()
    share, share_of_cpu = seen(profile)
    figure("ticks in bursts after idleness, of one a millisecond", share, "share", bound=SEEN_MIN)
    assert is_seen(share, share_of_cpu), (share_of_cpu, profile.facts())
    # What was slept is told whole, though nobody looked: but when a sleep began, genba knows no sooner than this machine gives it a CPU.
    slept_ns = profile.sum("wall_ns", lambda row: row.state.startswith("in clock_nanosleep") or row.state.startswith("in pselect"))
    assert slept_ns > 0.99 * SLEPT_NS - SLEEPS * stalls.worst_ns(), (profile.facts(), stalls.worst_ns())
