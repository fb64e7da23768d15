"""casebook/repeat: what multiplying a list and a bytes object costs, and where. The shares are printed for every version."""

from collections import Counter

import pytest

from bounds import assert_share, effective_samples
from interpreters import Interpreter
from profile_tables import RUNNING, Profile
from recording import Workshop

pytestmark = pytest.mark.measures

LIST_FUNCTIONS = ("list_repeat", "list_dealloc", "list.__mul__", "list.__rmul__", "list.sq_repeat", "list.tp_dealloc")
COPIES = ("memmove", "memset", "memcpy")


# The casebook's list, with the two parts of its time by the thread's own clock.
LIST = """
import json, time
filling_ns = dropping_ns = 0
def repeat_list():
    global filling_ns, dropping_ns
    began_ns = time.thread_time_ns()
    made = [0, 1] * (64 * 1024 * 1024)
    filled_ns = time.thread_time_ns()
    del made
    filling_ns += filled_ns - began_ns
    dropping_ns += time.thread_time_ns() - filled_ns
while time.thread_time() < 3:
    repeat_list()
print(json.dumps(dropping_ns / (filling_ns + dropping_ns)))
"""


def running(profile: Profile, function: str) -> list[tuple[list[str], int]]:
    """Names and samples of the stacks in which `function` ran."""
    return [
        (row.names(), row.samples) for row in profile.rows() if row.state in RUNNING and function in row.names()
    ]


def test_list(workshop: Workshop, python: Interpreter, record_property) -> None:
    run = workshop.run(workshop.write("list.py", LIST), flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    true = run.answer()
    profile = run.profile()
    stacks = running(profile, "repeat_list")
    whole = sum(samples for _, samples in stacks)
    found = Counter()
    for names, samples in stacks:
        inner = next((name for name in reversed(names) if any(part in name for part in LIST_FUNCTIONS)), None)
        found[inner] += samples
    shares = {name: round(samples / whole, 3) for name, samples in found.most_common()}
    print(f"CPython {python.version}, list: {shares} of {whole} samples")
    record_property("list shares", shares)
    assert whole >= 500
    shown = Counter({tuple(names[-4:]): n for names, n in stacks}).most_common(5)
    # From 3.12 on small numbers are immortal and the repeated items are copied in blocks, by whatever copies best.
    wanted = LIST_FUNCTIONS if python.minor == "3.11" else (*LIST_FUNCTIONS, *COPIES)
    seen = sum(samples for names, samples in stacks if any(part in name for name in names for part in wanted))
    assert seen >= 0.9 * whole, shown
    # A gigabyte is given back in one call of the kernel's, in which no thread can be asked: such a sample has the CPU of many.
    rows = [row for row in profile.rows() if row.state in RUNNING and "repeat_list" in row.names()]
    cpu_ns = sum(row.cpu_ns for row in rows)
    dropping_ns = sum(row.cpu_ns for row in rows if any("dealloc" in name for name in row.names()))
    samples = effective_samples(cpu_ns / 1000, sum(row.cpu_us2 for row in rows))
    assert_share("dropping", dropping_ns / cpu_ns, true, int(samples))


def test_bytes(workshop: Workshop, python: Interpreter, record_property) -> None:
    run = workshop.run(workshop.program("casebook/repeat/slow.py"), "bytes", "10", flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    stacks = running(run.profile(), "repeat_bytes")
    whole = sum(samples for _, samples in stacks)
    found = Counter()
    for names, samples in stacks:
        found[next((copy for copy in COPIES if copy in names[-1]), None)] += samples
    shares = {name: round(samples / whole, 3) for name, samples in found.most_common()}
    print(f"CPython {python.version}, bytes: {shares} of {whole} samples")
    record_property("bytes shares", shares)
    assert whole >= 500
    assert whole - found[None] >= 0.9 * whole, Counter({tuple(names[-4:]): n for names, n in stacks}).most_common(5)
